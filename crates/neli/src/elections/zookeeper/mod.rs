//! Election over ZooKeeper: of the ephemeral sequential nodes of a partition, the lowest leads it.
//!
//! ```text
//!   store ---- handle_answer --------> +-----------+ ---- poll_request ---> store
//!   store ---- handle_watched -------> | ZooKeeper | ---- poll_event -----> member
//!   clock ---- handle_timeout -------> |           | ---- poll_timeout ---> clock
//!   caller --- handle_leave ---------> +-----------+ ---- claims ---------> caller
//! ```
//!
//! Feed it what happened, then drain every `poll_*` until it returns `None`. Each `handle_*` first
//! advances the time, so that a late timer changes nothing.
//!
//! A member has one session, and one node below each partition. It watches the node just before
//! its own, and no other, so that a deletion wakes one member; then it lists the nodes again, for
//! the one that went need not have led. If its own is the lowest, it watches that, and leads. A
//! server that lags behind shows no wrong leader: one that shows the member's own node has seen
//! all that were created before it, and no lower one is ever created. Of a request to create whose
//! answer was lost the list shows the result, so it lists before it creates another node, and
//! deletes a second one. The fence of a claim is the transaction that created its node.
//!
//! A claim ends `threshold` after the instant *before the member sent* the last write that was
//! accepted. A write, for a server answers a read alone, also when its leader has long ended the
//! session. Less than the session by what the servers need: the leader learns of a member's
//! requests from the server that the member is connected to, in the answers to its pings, and may
//! have learned of the write before this one, so it may count the session from `(syncLimit + 1/2) *
//! tickTime` and the time between two writes before the write. A lost connection alone ends no
//! claim: the same session goes on over another one, with the same node, and so does the claim if a
//! write is accepted in time.

mod place;
mod value;

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;
use std::time::Duration;

use place::{Place, State};
pub use value::{Answer, Node, Request, SessionId, Watched, Zxid};

use super::over_store::OverStore;
use crate::Event;
use tandem_facts::ids::PartitionId;
use tandem_facts::observation::{Ending, Horizon};
use tandem_facts::time::Mono;

/// The wait before a failed request is sent again.
const AGAIN: Duration = Duration::from_millis(100);

/// The configuration of a member; fixed for its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The number of partitions.
    pub width: NonZeroU32,
    /// The length of the session that it asks for.
    pub session: Duration,
    /// How often it writes.
    pub heartbeat: Duration,
    /// How long a claim outlives the last write; less than the session.
    pub threshold: Duration,
}

/// The session of a member.
#[derive(Debug, Clone, Copy)]
enum Session {
    /// It has none, and asks for one at this instant.
    None(Mono),
    Asked,
    Held {
        id: SessionId,
        /// How long a claim outlives a write.
        threshold: Duration,
        /// The first instant at which the last write no longer counts.
        until: Mono,
        /// When to write next.
        renew: Mono,
    },
}

/// One member of a group.
#[derive(Debug, Clone)]
pub struct ZooKeeper {
    config: Config,
    session: Session,
    places: BTreeMap<PartitionId, Place>,
    /// The requests without an answer, and when they were sent.
    flights: BTreeMap<u64, (Request, Mono)>,
    last: u64,
    requests: VecDeque<Request>,
    events: VecDeque<Event>,
    gone: bool,
}

impl ZooKeeper {
    /// A member that begins at `now`.
    #[must_use]
    pub fn new(now: Mono, config: Config) -> Self {
        let places = (0..config.width.get()).map(|k| (PartitionId(k), Place::new(now))).collect();
        Self {
            config,
            session: Session::None(now),
            places,
            flights: BTreeMap::new(),
            last: 0,
            requests: VecDeque::new(),
            events: VecDeque::new(),
            gone: false,
        }
    }
}

impl OverStore for ZooKeeper {
    type Request = Request;
    type Answer = Answer;
    type Watched = Watched;

    fn handle_timeout(&mut self, now: Mono) {
        if let Session::Held { until, .. } = self.session
            && until <= now
        {
            // The nodes stay: a write that is accepted yet proves that the session does.
            self.end_all(until, Ending::Unproven);
        }
        if self.gone {
            return;
        }
        match &mut self.session {
            Session::None(at) if *at <= now => {
                self.session = Session::Asked;
                self.requests.push_back(Request::Open(self.config.session));
            }
            Session::Held { renew, .. } if *renew <= now => {
                *renew = now + self.config.heartbeat;
                self.requests.push_back(Request::Renew);
            }
            Session::None(_) | Session::Asked | Session::Held { .. } => {}
        }
        let Session::Held { .. } = self.session else { return };
        for (partition, place) in &mut self.places {
            if matches!(place.state, State::Look(at) if at <= now) {
                place.state = State::Asked;
                self.requests.push_back(Request::List(*partition));
            }
        }
    }

    fn handle_answer(&mut self, now: Mono, number: u64, answer: Answer) {
        self.handle_timeout(now);
        let Some((request, sent)) = self.flights.remove(&number) else { return };
        match (request, answer) {
            (Request::Open(_), Answer::Opened(id, length)) => self.opened(now, sent, id, length),
            (Request::Open(_), _) => self.session = Session::None(now + AGAIN),
            (Request::Close | Request::Delete(..), _) => {}
            (_, Answer::NoSession) => self.lose(now),
            (Request::Renew, Answer::Renewed) => self.renewed(now, sent),
            // The next one is due anyway.
            (Request::Renew, _) => {}
            (Request::List(partition), Answer::Nodes(nodes)) => self.listed(partition, &nodes),
            (Request::Create(partition), Answer::Created) => {
                self.requests.push_back(Request::List(partition));
            }
            (Request::Watch(partition, _), Answer::Exists(created)) => {
                self.exists(now, partition, number, created);
            }
            (Request::Watch(partition, _), Answer::Absent) => self.look(partition, number, now),
            (Request::Watch(partition, _), _) => self.look(partition, number, now + AGAIN),
            (Request::List(partition) | Request::Create(partition), _) => {
                if let Some(place) = self.places.get_mut(&partition) {
                    place.look(now + AGAIN);
                }
            }
        }
        self.handle_timeout(now);
    }

    fn handle_watched(&mut self, now: Mono, number: u64, watched: Watched) {
        self.handle_timeout(now);
        let watches = |place: &Place| place.watch == Some(number);
        let place = self.places.iter().find(|(_, place)| watches(place));
        let Some(partition) = place.map(|(partition, _)| *partition) else { return };
        self.end(partition, now, Ending::Revoked);
        match watched {
            Watched::Deleted => self.look(partition, number, now),
            Watched::Ended => self.look(partition, number, now + AGAIN),
        }
        self.handle_timeout(now);
    }

    /// Closes its session.
    fn handle_leave(&mut self, now: Mono) {
        self.handle_timeout(now);
        self.end_all(now, Ending::Left);
        if let Session::Held { .. } = self.session {
            self.session = Session::None(now);
            self.requests.clear();
            self.requests.push_back(Request::Close);
        }
        self.gone = true;
    }

    fn is_gone(&self) -> bool {
        let ends = |request: &Request| matches!(request, Request::Open(_) | Request::Close);
        let sent = self.flights.values().any(|(request, _)| ends(request));
        self.gone && !sent && !self.requests.iter().any(ends)
    }

    fn has_joined(&self) -> bool {
        matches!(self.session, Session::Held { .. }) && self.places.values().all(|it| it.known)
    }

    fn poll_timeout(&self) -> Option<Mono> {
        let session = match self.session {
            Session::None(_) if self.gone => return None,
            Session::None(at) => return Some(at),
            Session::Asked => return None,
            Session::Held { until, renew, .. } if self.claims().next().is_some() => {
                until.min(renew)
            }
            Session::Held { renew, .. } => renew,
        };
        let looks = self.places.values().filter_map(|place| match place.state {
            State::Look(at) => Some(at),
            State::Asked | State::Behind | State::First | State::Ours(_) => None,
        });
        looks.chain([session]).min()
    }

    fn poll_request(&mut self, now: Mono) -> Option<(u64, Request)> {
        let request = self.requests.pop_front()?;
        self.last = self.last.saturating_add(1);
        if let Request::Watch(partition, _) = &request
            && let Some(place) = self.places.get_mut(partition)
        {
            place.watch = Some(self.last);
        }
        self.flights.insert(self.last, (request.clone(), now));
        Some((self.last, request))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn claims(&self) -> impl Iterator<Item = Horizon> {
        let until = match self.session {
            Session::Held { until, .. } => Some(until),
            Session::None(_) | Session::Asked => None,
        };
        let ours = self.places.iter().filter(|(_, place)| place.claimed);
        ours.filter_map(move |(partition, place)| {
            Some(Horizon { partition: *partition, term: place.term, until: until? })
        })
    }

    fn fence(&self, partition: PartitionId) -> Option<i64> {
        self.places.get(&partition).and_then(Place::fence).map(|created| created.0)
    }
}

impl ZooKeeper {
    fn opened(&mut self, now: Mono, sent: Mono, id: SessionId, length: Duration) {
        if self.gone {
            self.requests.push_back(Request::Close);
            return;
        }
        // What the servers need does not shrink with the session.
        let Config { session, threshold, heartbeat, .. } = self.config;
        let threshold = threshold.min(length.saturating_sub(session.saturating_sub(threshold)));
        let renew = now + heartbeat;
        self.session = Session::Held { id, threshold, until: sent + threshold, renew };
        for place in self.places.values_mut() {
            place.forget(now);
        }
    }

    /// The write that left at `sent` is accepted.
    fn renewed(&mut self, now: Mono, sent: Mono) {
        if let Session::Held { threshold, until, .. } = &mut self.session {
            *until = (*until).max(sent + *threshold);
        }
        for partition in (0..self.config.width.get()).map(PartitionId) {
            self.claim(now, partition);
        }
    }

    fn listed(&mut self, partition: PartitionId, nodes: &[Node]) {
        let Session::Held { id, .. } = self.session else { return };
        let Some(place) = self.places.get_mut(&partition) else { return };
        let ours = || nodes.iter().filter(|node| node.is_of(id));
        let Some(own) = ours().min() else {
            self.requests.push_back(Request::Create(partition));
            return;
        };
        for second in ours().filter(|node| *node != own) {
            self.requests.push_back(Request::Delete(partition, second.clone()));
        }
        let before = nodes.iter().filter(|node| *node < own).max();
        (place.state, place.known) = match before {
            Some(_) => (State::Behind, true),
            None => (State::First, place.known),
        };
        self.requests.push_back(Request::Watch(partition, before.unwrap_or(own).clone()));
    }

    fn exists(&mut self, now: Mono, partition: PartitionId, number: u64, created: Zxid) {
        let Some(place) = self.places.get_mut(&partition) else { return };
        if place.watch == Some(number) && place.state == State::First {
            (place.state, place.known) = (State::Ours(created), true);
            self.claim(now, partition);
        }
    }

    /// Lists the nodes at `at`, unless another watch has taken the place of this one.
    fn look(&mut self, partition: PartitionId, number: u64, at: Mono) {
        if let Some(place) = self.places.get_mut(&partition).filter(|it| it.watch == Some(number)) {
            place.look(at);
        }
    }

    /// Claims the partition, if the member's node is the lowest and the session is proved.
    fn claim(&mut self, now: Mono, partition: PartitionId) {
        let Session::Held { until, .. } = self.session else { return };
        let Some(place) = self.places.get_mut(&partition) else { return };
        if place.fence().is_none() || place.claimed || until <= now {
            return;
        }
        place.claimed = true;
        place.term = place.term.next();
        let claim = Horizon { partition, term: place.term, until };
        self.events.push_back(Event::Acquired { claim, from: now, stands_in_for: None });
    }

    /// The session is over. All that was asked in it no longer counts.
    fn lose(&mut self, now: Mono) {
        self.end_all(now, Ending::Unproven);
        for place in self.places.values_mut() {
            place.forget(now);
        }
        self.session = Session::None(now);
        self.flights.clear();
        self.requests.clear();
        self.requests.push_back(Request::Close);
    }

    fn end_all(&mut self, at: Mono, why: Ending) {
        for partition in (0..self.config.width.get()).map(PartitionId) {
            self.end(partition, at, why);
        }
    }

    /// Ends the claim on a partition, if there is one.
    fn end(&mut self, partition: PartitionId, at: Mono, why: Ending) {
        let Some(place) = self.places.get_mut(&partition) else { return };
        if std::mem::take(&mut place.claimed) {
            let claim = Horizon { partition, term: place.term, until: at };
            self.events.push_back(Event::Ended { claim, why });
        }
    }
}
