//! What a member sends, and when.

use super::{ConsumerMember, Flight, Kind, Phase};
use crate::membership::backoff::doubled;
use crate::membership::request::{Beat, Share, TopicPartition};
use crate::membership::{Outgoing, Request, RequestId};
use std::collections::BTreeMap;
use std::time::Duration;
use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;

/// A member leaves with this epoch.
const LEAVES: i32 = -1;
/// A static member leaves with this one, and may come back.
const LEAVES_FOR_A_WHILE: i32 = -2;
/// The longest first wait for an answer: the coordinator answers all of them at once.
const PATIENCE: Duration = Duration::from_secs(3);
/// The most often that a broker may want heartbeats.
const INTERVAL_LEAST: Duration = Duration::from_millis(5);

impl ConsumerMember {
    /// A request that is to be sent now. There is none while an event waits to be taken: a member
    /// ends its claims before a request lets its partitions go.
    #[must_use]
    pub fn poll_request(&mut self, now: Mono) -> Option<Outgoing> {
        self.handle_timeout(now);
        if !self.events.is_empty() || self.next_due().is_none_or(|due| due > now) {
            return None;
        }
        let (request, kind, member_id) = self.next_request(now);
        self.next_id += 1;
        let id = RequestId(self.next_id);
        let to = if kind == Kind::Find { None } else { self.coordinator.clone() };
        let deadline = now + self.patience();
        self.flight = Some(Flight { id, kind, member_id, sent: now, deadline });
        Some(Outgoing { id, to, request })
    }

    /// When to call [`poll_request`](Self::poll_request) next, at the latest. Never where the
    /// member has ended.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Mono> {
        if self.phase == Phase::Ended {
            return None;
        }
        let given_up = self.flight.as_ref().map(|flight| flight.deadline);
        let lost = (!self.held.is_empty()).then(|| self.contact + self.config.group.session);
        let left = if let Phase::Leaving { until, .. } = self.phase { Some(until) } else { None };
        let all = [given_up, lost, left, self.next_due(), self.next_silence()];
        all.into_iter().flatten().min()
    }

    /// Time has passed: a request that was not answered in time is given up, and partitions are
    /// lost of which nothing proves any more that the member holds them.
    pub fn handle_timeout(&mut self, now: Mono) {
        self.heed_session(now);
        if self.flight.as_ref().is_some_and(|flight| flight.deadline <= now) {
            self.fail(now, true);
        }
        self.heed_silence(now);
        self.end_if_gone(now);
    }

    /// When the next request is to leave; never while one is under way.
    fn next_due(&self) -> Option<Mono> {
        if self.flight.is_some() || self.phase == Phase::Ended {
            None
        } else if self.coordinator.is_none() {
            Some(self.due)
        } else if !self.departures.is_empty() {
            Some(self.due.max(self.promised))
        } else {
            match self.phase {
                Phase::Joining => {
                    let due = self.due.max(self.promised);
                    Some(self.silences.next_join().map_or(due, |join| due.max(join)))
                }
                Phase::Joined => {
                    let asks = [self.commit_at(), self.session_at(), self.leaders_at()];
                    let all = asks.into_iter().chain([Some(self.beat_at()), self.learn_at()]);
                    Some(self.due.max(all.flatten().min()?))
                }
                Phase::Leaving { .. } | Phase::Ended => None,
            }
        }
    }

    /// When to send a heartbeat: each interval, and as soon as the coordinator may hear that the
    /// member gave something up.
    fn beat_at(&self) -> Mono {
        if self.releasing.is_empty() { self.beat_due } else { self.beat_due.min(self.promised) }
    }

    /// When to commit next, while there is anything to prove or to fence.
    fn commit_at(&self) -> Option<Mono> {
        let reads = self.raises() && self.wanted.is_none();
        let wanted = self.proves() && (reads || !self.fences.is_empty());
        wanted.then_some(self.commit_due)
    }

    /// Whether it needs fences for what it was given.
    pub(super) fn raises(&self) -> bool {
        self.releasing.is_empty() && !self.missing().is_empty()
    }

    /// When to ask next how long the session is.
    fn session_at(&self) -> Option<Mono> {
        let wanted = self.proves() && !self.held.is_empty() && self.beaten.is_some();
        wanted.then_some(self.session_due)
    }

    fn next_request(&mut self, now: Mono) -> (Request, Kind, String) {
        if self.coordinator.is_none() {
            return (Request::FindCoordinator, Kind::Find, String::new());
        }
        if let Some(member_id) = self.departures.pop_front() {
            let stays = self.config.group.instance.is_some();
            let epoch = if stays { LEAVES_FOR_A_WHILE } else { LEAVES };
            let leave = Beat { member_id: member_id.clone(), epoch, whole: false, owned: None };
            return (Request::Beat(leave), Kind::Leave, member_id);
        }
        let member_id = self.member_id.clone();
        if self.phase == Phase::Joining && self.silences.is_away(now) {
            self.silences.look_in = Some(now + self.interval.max(INTERVAL_LEAST));
            return (Request::Members, Kind::Members, member_id);
        }
        let interval = self.config.group.commit.unwrap_or_default();
        let first = self.beat_at();
        if self.phase == Phase::Joined && self.commit_at().is_some_and(|at| at <= first.min(now)) {
            self.commit_due = now + interval;
            return self.commit(now, member_id);
        }
        if self.phase == Phase::Joined && self.session_at().is_some_and(|at| at <= first.min(now)) {
            self.session_due = now + interval;
            return (Request::Session, Kind::Session { beaten: self.beaten }, member_id);
        }
        if self.phase == Phase::Joined
            && self.leaders_at().is_some_and(|at| at <= now && now < first)
        {
            let partitions = self.ask_leaders(now);
            return (Request::Leaders { partitions }, Kind::Leaders, member_id);
        }
        if self.learn_at().is_some_and(|at| at <= first.min(now)) {
            return self.offsets(now, member_id);
        }
        let (beat, owned) = self.beat(now);
        self.was_sent = true;
        self.beat_due = now + self.interval.max(INTERVAL_LEAST);
        let kind = Kind::Beat { epoch: beat.epoch, whole: beat.whole, owned };
        (Request::Beat(beat), kind, member_id)
    }

    /// The fences of what it was given, or one of those that it has: that proves as much.
    fn commit(&mut self, now: Mono, member_id: String) -> (Request, Kind, String) {
        let generation = self.epoch;
        if self.raises() && self.raised.is_none() && self.wanted.is_none() {
            return self.offsets(now, member_id);
        }
        let raised = self.raised.as_ref().filter(|_| self.raises());
        let offsets: BTreeMap<PartitionId, i64> = match raised {
            Some(raised) => raised.clone(),
            None => self.fences.iter().take(1).map(|(partition, it)| (*partition, *it)).collect(),
        };
        let kind = Kind::Commit(offsets.clone());
        let offsets = offsets.into_iter().collect();
        let request = Request::Commit { member_id: member_id.clone(), generation, offsets };
        (request, kind, member_id)
    }

    /// A heartbeat, and what it names. A member names what it gave up until that has passed for
    /// everyone: no confirmation leaves before the last promise has ended.
    fn beat(&self, now: Mono) -> (Beat, Option<Share>) {
        let whole = self.whole || self.ghost || self.epoch == 0 || self.proves();
        let mut owned = self.held.clone();
        if now < self.promised {
            owned.extend(self.releasing.iter().copied());
        }
        let names = whole || self.acknowledged.as_ref() != Some(&owned);
        let listed: Vec<TopicPartition> = owned.iter().copied().collect();
        let beat = Beat {
            member_id: self.member_id.clone(),
            epoch: self.epoch,
            whole,
            owned: names.then_some(listed),
        };
        (beat, names.then_some(owned))
    }

    /// How long it waits for an answer. Each failure in a row doubles that, up to a limit, for the
    /// network may be slow and not broken.
    fn patience(&self) -> Duration {
        let session = self.config.group.session;
        let first = (session / 3).min(PATIENCE);
        doubled(first, self.backoff.failures()).min(session * 2 / 3).max(Duration::from_millis(10))
    }

    /// The request failed: its connection was lost, or (`late`) nothing was heard in time. The
    /// coordinator may have moved, and may have got the request or get it later.
    pub(super) fn fail(&mut self, now: Mono, late: bool) {
        let Some(flight) = self.flight.take() else { return };
        if late {
            self.abandoned.push_back(flight.id);
        }
        self.beat_due = now;
        self.commit_due = now;
        let own = flight.member_id == self.member_id;
        match flight.kind {
            Kind::Leave => self.departures.push_back(flight.member_id),
            Kind::Beat { epoch, .. } if own => {
                (self.whole, self.ghost) = (true, true);
                if epoch == 0 && self.phase == Phase::Joining {
                    self.rejoin(now, now, false);
                }
            }
            Kind::Commit(_) if own => self.ghost = true,
            Kind::Find
            | Kind::Beat { .. }
            | Kind::Commit(_)
            | Kind::Offsets
            | Kind::Leaders
            | Kind::Members
            | Kind::Session { .. } => {}
        }
        self.seek(now);
    }

    /// Finds the coordinator anew, after a while. What the last one named may be old.
    pub(super) fn seek(&mut self, now: Mono) {
        self.coordinator = None;
        self.forget_raised();
        self.due = now + self.backoff.failed();
    }
}
