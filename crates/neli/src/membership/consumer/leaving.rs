//! How a member leaves: it gives its partitions back and says so in a last heartbeat.

use super::{ConsumerConfig, ConsumerMember, Kind, Phase};
use crate::membership::refusal::Remedy;
use crate::membership::{GroupEvent, Refusal, Response};
use tandem_facts::time::Mono;

impl ConsumerMember {
    /// Leaves the group for a member that is dead, by its id. The coordinator takes it out at once
    /// instead of after a session; a later life of the member has another id, and stays.
    #[must_use]
    pub fn departing(now: Mono, config: ConsumerConfig, member_id: String) -> Self {
        let until = now + config.group.session;
        let mut member = Self::new(now, config);
        member.phase = Phase::Leaving { until, failed: None };
        member.departures.push_back(member_id);
        member
    }

    /// The member goes: it gives its partitions back at once, and leaves the group no sooner than
    /// after [`GroupConfig::hold`](crate::membership::GroupConfig::hold). A static member leaves
    /// for a while: the coordinator keeps its partitions for its successor until a session is over.
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
        // A Join has to be answered first: the coordinator would get it after the departure.
        let joins = |kind: &Kind| matches!(kind, Kind::Beat { epoch: 0, .. } | Kind::Leave);
        if let Some(flight) = self.flight.take_if(|flight| !joins(&flight.kind)) {
            self.abandoned.push_back(flight.id);
        }
        let stays = failed.is_some_and(|it| !it.leaves_a_member());
        if self.was_sent && !stays {
            self.departures.push_back(self.member_id.clone());
        }
        self.due = now;
        self.phase = Phase::Leaving { until: now + self.config.group.session, failed };
        self.end_if_gone(now);
    }

    /// A coordinator answered to a departure.
    pub(super) fn departed(&mut self, now: Mono, member_id: String, response: &Response) {
        // A member that the coordinator does not know is gone as well.
        if let Response::Refused { refusal, .. } = response
            && !Self::falls_out(*refusal)
            && matches!(refusal.remedy(), Remedy::Retry | Remedy::Find)
        {
            self.departures.push_back(member_id);
            self.refused(now, *refusal);
        }
    }

    /// Ends the member once it has left for every id, or cannot in time.
    pub(super) fn end_if_gone(&mut self, now: Mono) {
        let Phase::Leaving { until, failed } = self.phase else { return };
        let gone = self.flight.is_none() && self.departures.is_empty();
        if !gone && now < until {
            return;
        }
        self.abandoned.extend(self.flight.take().map(|flight| flight.id));
        self.departures.clear();
        self.phase = Phase::Ended;
        self.events.push_back(failed.map_or(GroupEvent::Left, GroupEvent::Failed));
    }
}
