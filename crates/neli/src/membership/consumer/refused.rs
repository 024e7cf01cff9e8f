//! How a member handles refusals.

use super::{ConsumerMember, Phase};
use crate::membership::Refusal;
use crate::membership::refusal::Remedy;
use tandem_facts::time::Mono;

/// The number of retries in a row after refusals with an unknown cause.
const OBSCURE_MOST: u32 = 10;

impl ConsumerMember {
    /// A heartbeat of this epoch was refused.
    pub(super) fn refused_beat(&mut self, now: Mono, epoch: i32, named: bool, refusal: Refusal) {
        self.whole = true;
        if refusal == Refusal::GroupIdNotFound && epoch == 0 {
            // A group of the classic protocol has the name.
            return self.go(now, Some(refusal));
        }
        if Self::falls_out(refusal) {
            return self.fall_out(now, refusal);
        }
        // The broker may have done it all the same.
        self.ghost |= named && (refusal.is_obscure() || refusal == Refusal::RequestTimedOut);
        self.refused(now, refusal);
    }

    /// A commit, or a question about the group, was refused.
    pub(super) fn refused_sign(&mut self, now: Mono, refusal: Refusal) {
        self.forget_raised();
        if refusal == Refusal::StaleMemberEpoch {
            // A heartbeat says which epoch it is.
            (self.whole, self.beat_due) = (true, now);
            self.commit_due = now + self.backoff.failed();
        } else if Self::falls_out(refusal) {
            self.fall_out(now, refusal);
        } else {
            self.refused(now, refusal);
        }
    }

    fn fall_out(&mut self, now: Mono, refusal: Refusal) {
        let first = self.backoff.failures() == 0;
        let wait = self.backoff.failed();
        let at = if first { now } else { now + wait };
        self.rejoin(now, at, refusal == Refusal::UnknownMemberId);
    }

    /// Reacts to a refusal of any request.
    pub(super) fn refused(&mut self, now: Mono, refusal: Refusal) {
        self.obscure = if refusal.is_obscure() { self.obscure + 1 } else { self.obscure };
        if self.obscure > OBSCURE_MOST {
            return self.go(now, Some(refusal));
        }
        match (refusal, refusal.remedy()) {
            (Refusal::UnsupportedAssignor, _) | (_, Remedy::Fail) => self.go(now, Some(refusal)),
            (_, Remedy::Find) => self.seek(now),
            (_, Remedy::Retry | Remedy::Rejoin | Remedy::Restart | Remedy::TakeId) => {
                self.due = now + self.backoff.failed();
                if self.phase == Phase::Joined {
                    self.beat_due = self.due;
                }
            }
        }
    }
}
