//! The fences of what a member was given, from the group's last numbers to those that it commits.

use super::{ConsumerMember, Kind, Phase};
use crate::membership::fences::{ByPartition, Wanted};
use crate::membership::{Refusal, Request, RequestId};
use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;

impl ConsumerMember {
    /// The same member, which commits no fence before its host has kept it: as
    /// [`GroupMember::keeping_fences`].
    ///
    /// [`GroupMember::keeping_fences`]: crate::membership::GroupMember::keeping_fences
    #[must_use]
    pub fn keeping_fences(self) -> Self {
        Self { keeps_fences: true, ..self }
    }

    /// Fences for the host to keep: as [`GroupMember::poll_fences`].
    ///
    /// [`GroupMember::poll_fences`]: crate::membership::GroupMember::poll_fences
    #[must_use]
    pub fn poll_fences(&mut self) -> Option<(RequestId, ByPartition)> {
        self.wanted.as_mut()?.ask()
    }

    /// The host keeps these fences. An answer to a question of the past is no news.
    pub fn handle_fences(&mut self, now: Mono, id: RequestId, kept: &ByPartition) {
        self.handle_timeout(now);
        if let Some(fences) = self.wanted.as_ref().and_then(|wanted| wanted.answered(id, kept)) {
            (self.raised, self.wanted) = (Some(fences), None);
            self.commit_due = now;
        }
    }

    /// A fence for the host to keep: as [`GroupMember::poll_learned`].
    ///
    /// [`GroupMember::poll_learned`]: crate::membership::GroupMember::poll_learned
    #[must_use]
    pub fn poll_learned(&mut self) -> Option<i64> {
        self.known.news().filter(|_| self.keeps_fences)
    }

    /// When to read the fences again, though the member needs none.
    pub(super) fn learn_at(&self) -> Option<Mono> {
        self.learn_due.filter(|_| self.proves() && self.phase == Phase::Joined)
    }

    /// The question for the fences: of what it was given anew, and if it learns, of all.
    pub(super) fn offsets(&mut self, now: Mono, member_id: String) -> (Request, Kind, String) {
        let group = &self.config.group;
        self.learn_due = group.learns.map(|interval| now + interval);
        let partitions = match self.learn_due {
            Some(_) => (0..group.width.get()).map(PartitionId).collect(),
            None => self.missing().into_iter().map(|it| it.partition).collect(),
        };
        let (asked, generation) = (member_id.clone(), self.epoch);
        (Request::Offsets { member_id: asked, generation, partitions }, Kind::Offsets, member_id)
    }

    /// The group's last fences; a partition without one has no entry.
    pub(super) fn read(&mut self, now: Mono, last: &ByPartition) {
        self.known.read(last);
        if !self.raises() || self.raised.is_some() || self.wanted.is_some() {
            return;
        }
        let missing = self.missing().into_iter().map(|it| it.partition);
        let Some(fences) = self.known.next(now, &self.config.group, missing, last) else {
            return self.go(now, Some(Refusal::NoHigherFence));
        };
        if self.keeps_fences {
            self.next_id += 1;
            self.wanted = Some(Wanted::new(RequestId(self.next_id), fences));
        } else {
            self.raised = Some(fences);
        }
        self.commit_due = now;
    }

    /// What was read before counts no more.
    pub(super) fn forget_raised(&mut self) {
        (self.raised, self.wanted) = (None, None);
    }
}
