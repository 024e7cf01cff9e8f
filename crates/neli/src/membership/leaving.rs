//! How a member leaves: it gives its partitions back and sends a LeaveGroup for each of its ids.

use super::flight::{Flight, Kind};
use super::{GroupConfig, GroupEvent, GroupMember, Phase, Refusal};
use tandem_facts::time::Mono;

impl GroupMember {
    /// Leaves the group for a member that is dead, by the id that the coordinator gave it. The
    /// coordinator takes it out at once instead of after a session; a later life of the member has
    /// another id, and stays.
    #[must_use]
    pub fn departing(now: Mono, config: GroupConfig, member_id: String) -> Self {
        let until = now + config.session;
        let mut member = Self::new(now, config);
        member.phase = Phase::Leaving { until, failed: None };
        member.departures.push_back(member_id);
        member
    }

    /// The member goes: it gives its partitions back at once, and sends no LeaveGroup within
    /// [`GroupConfig::hold`]. A dynamic member leaves the group,
    /// so that they move at once; a static one only falls silent, as clients of Kafka do, and a
    /// successor with its instance id gets them.
    pub fn handle_leave(&mut self, now: Mono) {
        self.handle_timeout(now);
        self.go(now, None);
    }

    /// Goes; where a refusal drives it out, because of that.
    pub(super) fn go(&mut self, now: Mono, failed: Option<Refusal>) {
        if matches!(self.phase, Phase::Leaving { .. } | Phase::Ended) {
            return;
        }
        match failed {
            Some(_) => self.lose(now),
            None => self.revoke_all(now),
        }
        self.unprove();
        self.generation = None;
        // An anonymous join has to be answered first: only the answer says whom to leave for.
        if self.waiting.as_ref().is_some_and(|flight| !flight.is_anonymous_join()) {
            self.abandon_waiting(now);
        }
        let is_sign = |it: &Flight| {
            matches!(it.kind, Kind::Heartbeat { .. } | Kind::Commit { .. } | Kind::Leaders)
        };
        if self.prompt.as_ref().is_some_and(is_sign) {
            self.abandon_prompt();
        }
        let stays =
            self.config.instance.is_some() || failed.is_some_and(|it| !it.leaves_a_member());
        let id = std::mem::take(&mut self.member_id);
        if !id.is_empty() && !stays {
            self.departures.push_back(id);
        }
        self.due = now;
        self.phase = Phase::Leaving { until: now + self.config.session, failed };
        self.end_if_gone(now);
    }

    /// Ends the member once it has left for every id, or cannot in time.
    pub(super) fn end_if_gone(&mut self, now: Mono) {
        let Phase::Leaving { until, failed } = self.phase else { return };
        let leaving = matches!(&self.prompt, Some(flight) if flight.kind == Kind::Leave);
        let waits = self.waiting.is_some() || !self.orphans.is_empty();
        let busy = leaving || !self.departures.is_empty();
        // A static member has nothing to leave for.
        let gone = !busy && (!waits || self.config.instance.is_some());
        if !gone && now < until {
            return;
        }
        self.abandon_waiting(now);
        self.abandon_prompt();
        self.abandoned.extend(std::mem::take(&mut self.orphans).into_keys());
        self.departures.clear();
        self.phase = Phase::Ended;
        let event = failed.map_or(GroupEvent::Left, GroupEvent::Failed);
        self.events.push_back(event);
    }
}
