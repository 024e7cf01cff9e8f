//! What a member sends, and when.

use super::flight::{Flight, Kind, patience};
use super::{Broker, GroupMember, Join, Outgoing, Phase, Request, RequestId, Sync};
use tandem_facts::time::Mono;

/// For how many sessions a network may hold a Join without an id that a member gave up.
const ORPHANED: u32 = 10;

impl GroupMember {
    /// A request that is to be sent now. There is none while an event waits to be taken: a member
    /// ends its claims before a request lets its partitions go.
    #[must_use]
    pub fn poll_request(&mut self, now: Mono) -> Option<Outgoing> {
        self.handle_timeout(now);
        if !self.events.is_empty() {
            return None;
        }
        let prompt = if self.prompt.is_none() { self.next_prompt(now) } else { None };
        let request = match prompt {
            Some(request) => request,
            None if self.waiting.is_none() => self.next_waiting(now)?,
            None => return None,
        };
        Some(self.send(now, request))
    }

    /// When to call [`poll_request`](Self::poll_request) next, at the latest. Never where the
    /// member has ended.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Mono> {
        if matches!(self.phase, Phase::Ended) {
            return None;
        }
        let flights = [&self.waiting, &self.prompt].into_iter().flatten();
        let given_up = flights.map(|flight| flight.deadline);
        let lost = (!self.held.is_empty()).then(|| self.contact + self.config.session);
        let left = if let Phase::Leaving { until, .. } = self.phase { Some(until) } else { None };
        let orphans = self.orphans.values().copied();
        let silence = self.next_silence();
        let next = [lost, left, silence, self.next_prompt_due(), self.next_waiting_due()];
        given_up.chain(orphans).chain(next.into_iter().flatten()).min()
    }

    /// Time has passed: requests that were not answered in time are given up, and partitions of
    /// which nothing proves any more that the member holds them are lost.
    pub fn handle_timeout(&mut self, now: Mono) {
        if self.held_too_long(now) {
            self.lose(now);
            if !matches!(self.phase, Phase::Joining) {
                self.rejoin(now, now);
            }
        }
        if self.prompt.as_ref().is_some_and(|flight| flight.deadline <= now) {
            self.fail_prompt(now, true);
        }
        if self.waiting.as_ref().is_some_and(|flight| flight.deadline <= now) {
            self.fail_waiting(now, true);
        }
        let over: Vec<RequestId> =
            self.orphans.iter().filter(|(_, until)| **until <= now).map(|(id, _)| *id).collect();
        for id in over {
            self.orphans.remove(&id);
            self.abandoned.push_back(id);
        }
        self.heed_silence(now);
        self.end_if_gone(now);
    }

    fn held_too_long(&self, now: Mono) -> bool {
        !self.held.is_empty() && now >= self.contact + self.config.session
    }

    /// When a request that is answered at once is to leave; never while one is under way.
    fn next_prompt_due(&self) -> Option<Mono> {
        let ended = matches!(self.phase, Phase::Ended);
        if ended || self.prompt.is_some() {
            None
        } else if self.coordinator.is_none() {
            Some(self.due)
        } else if !self.departures.is_empty() {
            Some(self.due.max(self.promised))
        } else {
            self.confirmed_member()?;
            let others = [self.next_commit_due(), self.next_leaders_due(), self.next_learn_due()];
            others.into_iter().flatten().chain([self.beat_due]).min()
        }
    }

    /// When to commit next, while there is anything to prove, and nothing for the host to keep.
    fn next_commit_due(&self) -> Option<Mono> {
        let wanted = self.config.commit.is_some() && self.is_stable() && !self.held.is_empty();
        (wanted && !self.waits_for_host()).then_some(self.commit_due)
    }

    fn next_prompt(&mut self, now: Mono) -> Option<Request> {
        if self.next_prompt_due().is_none_or(|due| due > now) {
            return None;
        }
        if self.coordinator.is_none() {
            return Some(Request::FindCoordinator);
        }
        if let Some(member_id) = self.departures.pop_front() {
            return Some(Request::Leave { member_id });
        }
        let member_id = self.confirmed_member()?.to_owned();
        let first = self.next_commit_due().map_or(self.beat_due, |due| due.min(self.beat_due));
        if self.next_leaders_due().is_some_and(|due| due <= now) && now < first {
            return Some(Request::Leaders { partitions: self.ask_leaders(now) });
        }
        let generation = self.generation.unwrap_or(-1);
        if self.next_learn_due().is_some_and(|due| due <= now) && now < first {
            return Some(self.offsets(now, member_id, generation));
        }
        let commits = self.next_commit_due().is_some_and(|due| due < self.beat_due);
        match self.config.commit.filter(|_| commits) {
            Some(interval) => {
                self.commit_due = now + interval;
                Some(match self.to_commit() {
                    Some(offsets) => Request::Commit { member_id, generation, offsets },
                    None => self.offsets(now, member_id, generation),
                })
            }
            None => {
                self.beat_due = now + self.config.heartbeat;
                Some(Request::Heartbeat { member_id, generation })
            }
        }
    }

    /// The id under which heartbeats make sense: the coordinator has counted it in.
    fn confirmed_member(&self) -> Option<&str> {
        self.member_id().filter(|_| self.confirmed)
    }

    fn next_waiting_due(&self) -> Option<Mono> {
        let wants = matches!(self.phase, Phase::Joining | Phase::Syncing { .. });
        let promised = matches!(self.phase, Phase::Joining).then_some(self.promised);
        let due = promised.map_or(self.due, |promised| self.due.max(promised));
        let due = self.silences.away.map_or(due, |away| due.max(away));
        (wants && self.waiting.is_none() && self.coordinator.is_some()).then_some(due)
    }

    fn next_waiting(&self, now: Mono) -> Option<Request> {
        if self.next_waiting_due().is_none_or(|due| due > now) {
            return None;
        }
        let member_id = self.member_id.clone();
        match (&self.phase, self.generation) {
            (Phase::Joining, _) => {
                Some(Request::Join(Join { member_id, protocols: self.protocols(now) }))
            }
            (Phase::Syncing { protocol, assignments }, Some(generation)) => {
                let (protocol, assignments) = (protocol.name(), assignments.clone());
                Some(Request::Sync(Sync { member_id, generation, protocol, assignments }))
            }
            (
                Phase::Syncing { .. } | Phase::Stable { .. } | Phase::Leaving { .. } | Phase::Ended,
                _,
            ) => None,
        }
    }

    fn send(&mut self, now: Mono, request: Request) -> Outgoing {
        self.next_id += 1;
        let id = RequestId(self.next_id);
        let (kind, waits) = (Kind::of(&request), request.waits_for_others());
        let to = if kind == Kind::Find { None } else { self.coordinator.clone() };
        let member_id = match &request {
            Request::FindCoordinator
            | Request::Leaders { .. }
            | Request::Beat(_)
            | Request::Session
            | Request::Members => String::new(),
            Request::Join(Join { member_id, .. }) => {
                self.say(now);
                member_id.clone()
            }
            Request::Sync(Sync { member_id, .. })
            | Request::Heartbeat { member_id, .. }
            | Request::Offsets { member_id, .. }
            | Request::Commit { member_id, .. }
            | Request::Leave { member_id } => member_id.clone(),
        };
        let deadline = now + self.patience(waits && !self.answers_at_once(&request));
        let flight =
            Flight { id, to: to.clone(), kind, member_id, sent: now, deadline, suspect: false };
        let lane = if waits { &mut self.waiting } else { &mut self.prompt };
        *lane = Some(flight);
        Outgoing { id, to, request }
    }

    /// A dynamic member's first Join is only answered with an id.
    fn answers_at_once(&self, request: &Request) -> bool {
        let anonymous = matches!(request, Request::Join(join) if join.member_id.is_empty());
        anonymous && self.config.instance.is_none()
    }

    pub(super) fn patience(&self, waits: bool) -> std::time::Duration {
        let failures = self.backoff.failures();
        patience(waits, self.config.session, self.config.rebalance, failures)
    }

    /// The request that is answered at once failed: its connection was lost, or (`late`) nothing
    /// was heard in time. The coordinator may have moved.
    pub(super) fn fail_prompt(&mut self, now: Mono, late: bool) {
        let Some(flight) = self.prompt.take() else { return };
        if late {
            self.abandoned.push_back(flight.id);
        }
        if flight.kind == Kind::Leave {
            self.departures.push_back(flight.member_id);
        }
        if let Some(waiting) = &mut self.waiting {
            waiting.suspect = true;
        }
        self.hurry(now);
        self.seek(now);
    }

    /// The next heartbeat and the next commit leave at once.
    pub(super) const fn hurry(&mut self, now: Mono) {
        self.beat_due = now;
        self.commit_due = now;
    }

    /// The Join or Sync failed. The id stays: the coordinator may have got it.
    pub(super) fn fail_waiting(&mut self, now: Mono, late: bool) {
        let Some(flight) = self.waiting.take() else { return };
        if flight.is_anonymous_join() {
            self.orphan(now, &flight, late);
        } else if late {
            self.abandoned.push_back(flight.id);
        }
        self.seek(now);
        self.taint(now, &flight);
    }

    /// A Join under an id is given up, and the coordinator may still get it.
    fn taint(&mut self, now: Mono, flight: &Flight) {
        if flight.kind != Kind::Join || flight.member_id.is_empty() {
            return;
        }
        self.tainted = true;
        if self.config.renews_id
            && self.config.instance.is_none()
            && flight.member_id == self.member_id
        {
            self.lose(now);
            self.departures.push_back(std::mem::take(&mut self.member_id));
            self.confirmed = false;
        }
    }

    /// Finds the coordinator anew, after a while.
    pub(super) fn seek(&mut self, now: Mono) {
        self.coordinator = None;
        self.distrust_fences();
        self.due = now + self.backoff.failed();
    }

    /// The broker that coordinates the group is known.
    pub(super) fn found(&mut self, now: Mono, broker: Broker) {
        let moved = self.waiting.as_ref().is_some_and(|flight| flight.to.as_ref() != Some(&broker));
        self.coordinator = Some(broker);
        self.hurry(now);
        self.due = now;
        if moved {
            self.abandon_waiting(now);
        }
    }

    /// Waits for the answer to the Join or Sync no longer.
    pub(super) fn abandon_waiting(&mut self, now: Mono) {
        let Some(flight) = self.waiting.take() else { return };
        if flight.is_anonymous_join() {
            self.orphan(now, &flight, true);
        } else {
            self.abandoned.push_back(flight.id);
            self.taint(now, &flight);
        }
    }

    /// A Join without an id is given up, while its connection lives on or not.
    fn orphan(&mut self, now: Mono, join: &Flight, connected: bool) {
        let until = now + self.config.session.saturating_mul(ORPHANED);
        if self.config.instance.is_some() {
            self.doubt = Some(until);
        }
        if connected {
            self.orphans.insert(join.id, until);
        }
    }

    pub(super) fn abandon_prompt(&mut self) {
        self.abandoned.extend(self.prompt.take().map(|flight| flight.id));
    }
}
