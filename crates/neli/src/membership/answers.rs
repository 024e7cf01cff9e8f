//! How a member handles answers.

use super::flight::{Flight, Kind};
use super::refusal::Remedy;
use super::{Assignor, GroupMember, Joined, Phase, Refusal, RequestId, Response};
use tandem_facts::time::Mono;

/// The number of retries in a row after refusals with an unknown cause.
const OBSCURE_MOST: u32 = 10;

impl GroupMember {
    /// A broker answered. An answer to a request that the member gave up is no news, except where
    /// it tells the id that a Join without one was given.
    ///
    /// A member that was stopped finds answers that came in time: they count before the timeouts.
    pub fn handle_response(&mut self, now: Mono, id: RequestId, response: Response) {
        if self.prompt.as_ref().is_some_and(|flight| flight.id == id) {
            if let Some(flight) = self.prompt.take() {
                self.answered_prompt(now, flight, response);
            }
        } else if self.waiting.as_ref().is_some_and(|flight| flight.id == id) {
            if let Some(flight) = self.waiting.take() {
                self.answered_waiting(now, &flight, response);
            }
        } else if self.orphans.remove(&id).is_some() {
            self.answered_orphan(now, response);
        }
        self.handle_timeout(now);
    }

    /// The connection on which a request was sent is lost, or could not be made: the broker may
    /// have got the request or not.
    pub fn handle_failure(&mut self, now: Mono, id: RequestId) {
        self.handle_timeout(now);
        if self.prompt.as_ref().is_some_and(|flight| flight.id == id) {
            self.fail_prompt(now, false);
        } else if self.waiting.as_ref().is_some_and(|flight| flight.id == id) {
            self.fail_waiting(now, false);
        } else {
            self.orphans.remove(&id);
        }
        self.end_if_gone(now);
    }

    fn answered_prompt(&mut self, now: Mono, flight: Flight, response: Response) {
        match (flight.kind, response) {
            (Kind::Find, Response::Coordinator(broker)) => self.found(now, broker),
            (Kind::Find, Response::Refused { refusal, .. }) => self.refused(now, refusal),
            (
                Kind::Heartbeat { generation }
                | Kind::Offsets { generation }
                | Kind::Commit { generation },
                Response::Offsets(_) | Response::Done | Response::Refused { .. },
            ) if !self.is_current(&flight.member_id, generation) => {}
            (Kind::Heartbeat { .. }, Response::Done) => self.alive(now, &flight),
            (Kind::Offsets { .. }, Response::Offsets(last)) => self.read(now, &last),
            (Kind::Offsets { .. }, Response::Refused { refusal, .. }) => self.unread(now, refusal),
            (Kind::Commit { .. }, Response::Done) => self.kept(&flight),
            (Kind::Leaders, Response::Leaders(partitions)) => self.led(flight.sent, partitions),
            (Kind::Heartbeat { .. } | Kind::Commit { .. }, Response::Refused { refusal, .. }) => {
                self.refused_sign(now, &flight, refusal);
            }
            (Kind::Leave, Response::Refused { refusal, .. })
                if matches!(refusal.remedy(), Remedy::Retry | Remedy::Find) =>
            {
                self.departures.push_back(flight.member_id);
                self.refused(now, refusal);
            }
            // A member that the coordinator does not know is gone as well; who leads the partitions
            // is asked again.
            (Kind::Leave, Response::Done | Response::Refused { .. })
            | (Kind::Leaders, Response::Refused { .. }) => {}
            // No answer to what was asked: the connection is no good.
            (_, _) => {
                self.prompt = Some(flight);
                self.fail_prompt(now, true);
            }
        }
    }

    fn is_current(&self, member_id: &str, generation: i32) -> bool {
        self.member_id == member_id && self.generation.unwrap_or(-1) == generation
    }

    /// A heartbeat was answered without an error.
    fn alive(&mut self, now: Mono, beat: &Flight) {
        self.contact = self.contact.max(beat.sent);
        self.backoff.succeeded();
        match self.phase {
            // What was sent before the share came proves nothing about it.
            Phase::Stable { since } if beat.sent < since => {}
            Phase::Stable { .. } => self.beaten = Some(beat.sent),
            // Nothing rebalances there, so the coordinator does not have this member's Join.
            Phase::Joining => self.resend_overdue(now, beat),
            Phase::Syncing { .. } => self.resend_suspect(now),
            Phase::Leaving { .. } | Phase::Ended => {}
        }
    }

    /// A commit was acknowledged.
    fn kept(&mut self, commit: &Flight) {
        self.backoff.succeeded();
        if let Phase::Stable { since } = self.phase
            && commit.sent >= since
        {
            self.committed = Some(commit.sent);
            self.keep_fences();
        }
    }

    /// A heartbeat or a commit was refused.
    fn refused_sign(&mut self, now: Mono, beat: &Flight, refusal: Refusal) {
        match (refusal, &self.phase) {
            (Refusal::RebalanceInProgress, phase) => {
                self.contact = self.contact.max(beat.sent);
                self.backoff.succeeded();
                if matches!(phase, Phase::Joining) {
                    self.resend_suspect(now);
                } else {
                    self.rejoin(now, now);
                }
            }
            // The group has gone on with this member, or this member is new to it.
            (Refusal::IllegalGeneration, Phase::Joining) => {
                if self.generation.is_some() {
                    self.resend_overdue(now, beat);
                } else {
                    self.resend_suspect(now);
                }
            }
            (refusal, _) => {
                self.beat_due = now + self.config.heartbeat;
                self.refused(now, refusal);
            }
        }
    }

    /// Sends the Join again where it has been under way for long enough to have arrived before
    /// this heartbeat.
    fn resend_overdue(&mut self, now: Mono, beat: &Flight) {
        let patience = self.patience(false);
        if self.waiting.as_ref().is_some_and(|join| beat.sent >= join.sent + patience) {
            self.abandon_waiting(now);
            self.due = now;
        } else {
            self.resend_suspect(now);
        }
    }

    /// Sends the Join or Sync again where another request failed meanwhile: the coordinator takes
    /// it for a repetition if it has it.
    fn resend_suspect(&mut self, now: Mono) {
        if self.waiting.as_ref().is_some_and(|flight| flight.suspect) {
            self.abandon_waiting(now);
            self.due = now;
        }
    }

    fn answered_waiting(&mut self, now: Mono, flight: &Flight, response: Response) {
        let leaving = matches!(self.phase, Phase::Leaving { .. });
        match (flight.kind, response) {
            (Kind::Join, response) if leaving => self.answered_orphan(now, response),
            (Kind::Join, Response::Joined(joined)) => self.joined(now, flight, joined),
            (
                Kind::Join,
                Response::Refused { refusal: Refusal::MemberIdRequired, member_id: Some(id) },
            ) => {
                self.name(id);
                self.confirmed = false;
                self.due = now;
            }
            (Kind::Sync { generation }, Response::Synced(share)) => {
                self.contact = self.contact.max(flight.sent);
                if self.settle(now, generation, &share) {
                    self.obscure = 0;
                    self.backoff.succeeded();
                } else {
                    self.refused(now, Refusal::UnknownServerError);
                    self.rejoin(now, self.due);
                }
            }
            (_, Response::Refused { refusal, .. }) => self.refused(now, refusal),
            (_, _) => self.seek(now),
        }
    }

    /// The coordinator gave the member an id.
    fn name(&mut self, id: String) {
        self.tainted &= id == self.member_id;
        self.member_id = id;
    }

    fn joined(&mut self, now: Mono, flight: &Flight, joined: Joined) {
        let offered = Assignor::from_name(&joined.protocol);
        let offered = offered.filter(|it| self.config.assignors.iter().any(|own| own == *it));
        let Some(protocol) = offered else {
            self.member_id = joined.member_id;
            return self.go(now, Some(Refusal::InconsistentGroupProtocol));
        };
        self.name(joined.member_id.clone());
        self.confirmed = true;
        self.generation = Some(joined.generation);
        self.contact = self.contact.max(flight.sent);
        self.backoff.succeeded();
        self.due = now;
        self.beat_due = now + self.config.heartbeat;
        let assignments = self.share_out(protocol, joined);
        self.phase = Phase::Syncing { protocol, assignments };
    }

    /// A Join without an id that the member had given up was answered after all.
    fn answered_orphan(&mut self, now: Mono, response: Response) {
        let id = match response {
            Response::Joined(Joined { member_id, .. })
            | Response::Refused {
                refusal: Refusal::MemberIdRequired,
                member_id: Some(member_id),
            } => member_id,
            Response::Coordinator(_)
            | Response::Synced(_)
            | Response::Offsets(_)
            | Response::Leaders(_)
            | Response::Beaten(_)
            | Response::Session(_)
            | Response::Members(_)
            | Response::Done
            | Response::Refused { .. } => return,
        };
        let joining = matches!(self.phase, Phase::Joining);
        if id.is_empty() || id == self.member_id {
        } else if self.config.instance.is_some() {
            // It took the place of the id that this member has now.
            if !matches!(self.phase, Phase::Leaving { .. } | Phase::Ended) {
                self.lose(now);
                self.name(id);
                self.rejoin(now, now);
            }
        } else if joining && self.member_id.is_empty() && self.waiting.is_none() {
            self.name(id);
            self.due = now;
        } else {
            self.departures.push_back(id);
        }
    }

    /// Reacts to a refusal of any request.
    pub(super) fn refused(&mut self, now: Mono, refusal: Refusal) {
        self.obscure = if refusal.is_obscure() { self.obscure + 1 } else { self.obscure };
        if self.obscure > OBSCURE_MOST {
            return self.go(now, Some(refusal));
        }
        match refusal.remedy() {
            Remedy::Retry => self.due = now + self.backoff.failed(),
            Remedy::Find => self.seek(now),
            Remedy::Rejoin => {
                if refusal == Refusal::IllegalGeneration {
                    self.lose(now);
                }
                let at = self.soon(now);
                self.rejoin(now, at);
            }
            Remedy::Restart | Remedy::TakeId => {
                let at = self.soon(now);
                self.restart(now, at);
            }
            Remedy::Fail if refusal == Refusal::FencedInstanceId && self.may_fence_itself(now) => {
                self.restart(now, now);
            }
            Remedy::Fail => self.go(now, Some(refusal)),
        }
    }

    /// Retries at once the first time, and with a backoff after that.
    fn soon(&mut self, now: Mono) -> Mono {
        let first = self.backoff.failures() == 0;
        let wait = self.backoff.failed();
        if first { now } else { now + wait }
    }

    /// Whether a Join of this static member, of which it does not know what became, can have
    /// taken the place of its id. That excuses it once.
    fn may_fence_itself(&mut self, now: Mono) -> bool {
        self.doubt.take().is_some_and(|until| now < until)
    }
}
