//! Election over etcd: the member whose lease holds the key of a partition leads it.
//!
//! ```text
//!   store ---- handle_answer --------> +------+ ---- poll_request ---> store
//!   store ---- handle_watched -------> | Etcd | ---- poll_event -----> member
//!   clock ---- handle_timeout -------> |      | ---- poll_timeout ---> clock
//!   caller --- handle_leave ---------> +------+ ---- claims ---------> caller
//! ```
//!
//! Feed it what happened, then drain every `poll_*` until it returns `None`. Each `handle_*` first
//! advances the time, so that a late timer changes nothing.
//!
//! A member has one lease. It creates the key of each partition that has none, bound to that lease,
//! in a transaction that fails if the key exists. It leads the partitions whose keys it created,
//! until its lease is over by its own count: from the instant *before it sent* the last request
//! that the store granted or renewed the lease for, for the length that the store answered, less
//! [`RATE`]. The store cannot have begun to count earlier, and no other member can create the key
//! before the store's count ends. To count from the answer would be wrong by the time that the
//! answer took. When a lease is over or lost, every claim ends, and the member asks for a new one.
//!
//! It reads all keys once, and watches them from the revision after the one that it read: so no
//! deletion is missed between the two. The fence of a claim is the revision that created its key.

mod place;
mod value;

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;
use std::time::Duration;

use place::{Place, State};
pub use value::{Answer, Holder, LeaseId, Request, Revision, Watched};

use super::over_store::OverStore;
use crate::Event;
use tandem_facts::ids::PartitionId;
use tandem_facts::observation::{Ending, Horizon};
use tandem_facts::time::Mono;

/// The part of a lease that the member does not count, because two clocks may differ in their rate:
/// a hundredth. A clock that is slewed runs wrong by a two-thousandth.
pub const RATE: u32 = 100;
/// The wait before a failed request is sent again.
const AGAIN: Duration = Duration::from_millis(100);

/// The configuration of a member; fixed for its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The number of partitions, each with a key.
    pub width: NonZeroU32,
    /// The length of the lease that it asks for.
    pub lease: Duration,
    /// How often it renews the lease.
    pub keep_alive: Duration,
}

/// The lease of a member.
#[derive(Debug, Clone, Copy)]
enum Lease {
    /// It has none, and asks for one at this instant.
    None(Mono),
    Asked,
    Held {
        id: LeaseId,
        /// The first instant at which it no longer counts.
        until: Mono,
        keep_alive: Mono,
    },
}

/// One member of a group.
#[derive(Debug, Clone)]
pub struct Etcd {
    config: Config,
    lease: Lease,
    places: BTreeMap<PartitionId, Place>,
    /// When to read the keys, if they are to be read.
    read: Option<Mono>,
    /// The number of the watch that counts.
    watch: Option<u64>,
    /// The requests without an answer, and when they were sent.
    flights: BTreeMap<u64, (Request, Mono)>,
    last: u64,
    requests: VecDeque<Request>,
    events: VecDeque<Event>,
    gone: bool,
}

impl Etcd {
    /// A member that begins at `now`.
    #[must_use]
    pub fn new(now: Mono, config: Config) -> Self {
        let places = (0..config.width.get()).map(|k| (PartitionId(k), Place::new())).collect();
        Self {
            config,
            lease: Lease::None(now),
            places,
            read: None,
            watch: None,
            flights: BTreeMap::new(),
            last: 0,
            requests: VecDeque::new(),
            events: VecDeque::new(),
            gone: false,
        }
    }
}

impl OverStore for Etcd {
    type Request = Request;
    type Answer = Answer;
    type Watched = Watched;

    fn handle_timeout(&mut self, now: Mono) {
        if let Lease::Held { id, until, .. } = self.lease
            && until <= now
        {
            self.lose(now, until);
            // So that the others need not wait until the store notices.
            self.requests.push_back(Request::Revoke(id));
        }
        if self.gone {
            return;
        }
        match &mut self.lease {
            Lease::None(at) if *at <= now => {
                self.lease = Lease::Asked;
                self.requests.push_back(Request::Grant(self.config.lease));
            }
            Lease::Held { id, keep_alive, .. } if *keep_alive <= now => {
                *keep_alive = now + self.config.keep_alive;
                self.requests.push_back(Request::KeepAlive(*id));
            }
            Lease::None(_) | Lease::Asked | Lease::Held { .. } => {}
        }
        let Lease::Held { id, .. } = self.lease else { return };
        if self.read.is_some_and(|at| at <= now) {
            self.read = None;
            self.requests.push_back(Request::Read);
        }
        for (partition, place) in &mut self.places {
            if matches!(place.state, State::Free(at) if at <= now) {
                place.state = State::Asked(None);
                self.requests.push_back(Request::Create(*partition, id));
            }
        }
    }

    fn handle_answer(&mut self, now: Mono, number: u64, answer: Answer) {
        self.handle_timeout(now);
        let Some((request, sent)) = self.flights.remove(&number) else { return };
        match (request, answer) {
            (Request::Grant(_), Answer::Granted(id, length)) => self.granted(sent, id, length),
            (Request::KeepAlive(_), Answer::KeptAlive(length)) => self.kept(sent, length),
            (Request::KeepAlive(_) | Request::Create(..), Answer::NoLease) => self.lose(now, now),
            (Request::Read, Answer::Keys(at, keys)) => {
                for partition in (0..self.config.width.get()).map(PartitionId) {
                    self.holds(now, partition, at, keys.get(&partition).copied());
                }
                self.requests.push_back(Request::Watch(Revision(at.0.saturating_add(1))));
            }
            (Request::Create(partition, _), Answer::Held(at, holder)) => {
                self.holds(now, partition, at, Some(holder));
            }
            (request, _) => self.failed(now, request),
        }
        self.handle_timeout(now);
    }

    fn handle_watched(&mut self, now: Mono, number: u64, watched: Watched) {
        self.handle_timeout(now);
        if self.watch != Some(number) {
            return;
        }
        match watched {
            Watched::Ended => (self.watch, self.read) = (None, Some(now + AGAIN)),
            Watched::Deleted(partition, at) => self.deleted(now, partition, at),
        }
        self.handle_timeout(now);
    }

    /// Revokes its lease.
    fn handle_leave(&mut self, now: Mono) {
        self.handle_timeout(now);
        self.end_all(now, Ending::Left);
        if let Lease::Held { id, .. } = self.lease {
            self.lease = Lease::None(now);
            self.requests.push_back(Request::Revoke(id));
        }
        (self.gone, self.read, self.watch) = (true, None, None);
    }

    fn is_gone(&self) -> bool {
        let ends = |request: &Request| matches!(request, Request::Grant(_) | Request::Revoke(_));
        let sent = self.flights.values().any(|(request, _)| ends(request));
        self.gone && !sent && !self.requests.iter().any(ends)
    }

    fn has_joined(&self) -> bool {
        self.until().is_some() && self.places.values().all(|place| place.state != State::Unknown)
    }

    fn poll_timeout(&self) -> Option<Mono> {
        let lease = match self.lease {
            Lease::None(_) if self.gone => return None,
            Lease::None(at) => return Some(at),
            Lease::Asked => return None,
            Lease::Held { until, keep_alive, .. } => until.min(keep_alive),
        };
        let free = self.places.values().filter_map(|place| match place.state {
            State::Free(at) => Some(at),
            State::Unknown | State::Asked(_) | State::Taken | State::Ours(_) => None,
        });
        free.chain(self.read).chain([lease]).min()
    }

    fn poll_request(&mut self, now: Mono) -> Option<(u64, Request)> {
        let request = self.requests.pop_front()?;
        self.last = self.last.saturating_add(1);
        match request {
            Request::Watch(_) => self.watch = Some(self.last),
            Request::Grant(_)
            | Request::KeepAlive(_)
            | Request::Read
            | Request::Create(..)
            | Request::Revoke(_) => drop(self.flights.insert(self.last, (request, now))),
        }
        Some((self.last, request))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn claims(&self) -> impl Iterator<Item = Horizon> {
        let until = self.until();
        let ours = self.places.iter().filter(|(_, place)| place.fence().is_some());
        ours.filter_map(move |(partition, place)| {
            Some(Horizon { partition: *partition, term: place.term, until: until? })
        })
    }

    fn fence(&self, partition: PartitionId) -> Option<i64> {
        self.places.get(&partition).and_then(Place::fence).map(|revision| revision.0)
    }
}

impl Etcd {
    fn until(&self) -> Option<Mono> {
        match self.lease {
            Lease::Held { until, .. } => Some(until),
            Lease::None(_) | Lease::Asked => None,
        }
    }

    fn granted(&mut self, sent: Mono, id: LeaseId, length: Duration) {
        if self.gone {
            self.requests.push_back(Request::Revoke(id));
            return;
        }
        let keep_alive = sent + self.config.keep_alive;
        self.lease = Lease::Held { id, until: counted(sent, length), keep_alive };
        self.read = Some(sent);
    }

    fn kept(&mut self, sent: Mono, length: Duration) {
        if let Lease::Held { until, .. } = &mut self.lease {
            *until = (*until).max(counted(sent, length));
        }
    }

    /// At revision `at` the key of `partition` is held by `holder`, or absent.
    fn holds(&mut self, now: Mono, partition: PartitionId, at: Revision, holder: Option<Holder>) {
        let Lease::Held { id, until, .. } = self.lease else { return };
        let Some(place) = self.places.get_mut(&partition) else { return };
        let ours = holder.filter(|holder| holder.lease == id).map(|holder| holder.created);
        // An answer that a later one has overtaken.
        if place.fence().is_some_and(|created| created > at) {
            return;
        }
        if place.fence().is_some() && place.fence() != ours {
            self.end(partition, now, Ending::Revoked);
        }
        let Some(place) = self.places.get_mut(&partition) else { return };
        let freed = match place.state {
            State::Asked(freed) => freed.filter(|freed| *freed > at),
            State::Ours(_) => return,
            State::Unknown | State::Free(_) | State::Taken => None,
        };
        place.state = match (ours, holder) {
            // The watch was faster than the answer: the key is gone again.
            _ if freed.is_some() => State::Free(now),
            (Some(created), _) => {
                place.term = place.term.next();
                let claim = Horizon { partition, term: place.term, until };
                self.events.push_back(Event::Acquired { claim, from: now, stands_in_for: None });
                State::Ours(created)
            }
            (None, Some(_)) => State::Taken,
            (None, None) => State::Free(now),
        };
    }

    fn deleted(&mut self, now: Mono, partition: PartitionId, at: Revision) {
        let Some(place) = self.places.get_mut(&partition) else { return };
        match place.state {
            State::Ours(created) if at > created => self.end(partition, now, Ending::Revoked),
            State::Asked(freed) => place.state = State::Asked(freed.max(Some(at))),
            State::Taken => place.state = State::Free(now),
            State::Ours(_) | State::Unknown | State::Free(_) => {}
        }
    }

    fn failed(&mut self, now: Mono, request: Request) {
        match request {
            Request::Grant(_) => self.lease = Lease::None(now + AGAIN),
            Request::Read => self.read = Some(now + AGAIN),
            Request::Create(partition, _) => {
                if let Some(place) = self.places.get_mut(&partition) {
                    place.state = State::Free(now + AGAIN);
                }
            }
            // The next one is due anyway; what is not revoked expires.
            Request::KeepAlive(_) | Request::Watch(_) | Request::Revoke(_) => {}
        }
    }

    /// The lease is over since `at`. All that was asked with it no longer counts.
    fn lose(&mut self, now: Mono, at: Mono) {
        self.end_all(at, Ending::Unproven);
        for place in self.places.values_mut() {
            place.state = State::Unknown;
        }
        self.lease = Lease::None(now);
        (self.read, self.watch) = (None, None);
        self.flights.clear();
        self.requests.clear();
    }

    fn end_all(&mut self, at: Mono, why: Ending) {
        for partition in (0..self.config.width.get()).map(PartitionId) {
            self.end(partition, at, why);
        }
    }

    /// Ends the claim on a partition, if there is one.
    fn end(&mut self, partition: PartitionId, at: Mono, why: Ending) {
        let Some(place) = self.places.get_mut(&partition) else { return };
        if place.fence().is_some() {
            place.state = State::Free(at);
            let claim = Horizon { partition, term: place.term, until: at };
            self.events.push_back(Event::Ended { claim, why });
        }
    }
}

/// The end of a lease of this `length` that the store counts from `sent` or later.
fn counted(sent: Mono, length: Duration) -> Mono {
    sent + (length - length / RATE)
}
