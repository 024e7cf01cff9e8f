//! A small group at an instant: its members, its coordinator, and what is on the way between them.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;
use tandem_neli::membership::{Beat, Beaten, Outgoing, Request, RequestId, Response};

use super::fingerprint::{BEGIN, Identity};
use super::hub::Hub;
use super::seat::{Outcome, Seat, State};
use super::setting::{SESSION, Setting, TICK, WIDTH};

/// A message that the network holds.
#[derive(Debug, Clone, Hash)]
pub(super) enum Late {
    Request(usize, Outgoing),
    Answer(usize, RequestId, Outcome),
}

impl Late {
    const fn seat(&self) -> usize {
        match self {
            Self::Request(seat, _) | Self::Answer(seat, ..) => *seat,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) now: Mono,
    pub(super) seats: Vec<Arc<Seat>>,
    pub(super) hub: Arc<Hub>,
    /// Answers that are about to reach their member.
    pub(super) ready: Vec<(usize, RequestId, Outcome)>,
    /// What the network holds, for any time.
    pub(super) late: Vec<Late>,
    /// How many faults may still come.
    pub(super) faults: u8,
    /// How often the clock went on so far, where that is limited.
    pub(super) ticks: u8,
    /// Whether the group settled once the faults ceased, where that was tried.
    pub(super) settled: bool,
    /// For how many ticks nothing else befalls the group.
    pub(super) lull: u8,
}

impl World {
    /// A group that is settled.
    pub(super) fn new(setting: &Setting) -> Self {
        let now = Mono(BEGIN) + Duration::from_secs(1_000);
        let seat = |number| Arc::new(Seat::new(now, u64::try_from(number).unwrap(), setting));
        let mut world = Self {
            now,
            seats: (0..setting.members + setting.later).map(seat).collect(),
            hub: Arc::new(Hub::new(now, setting.protocol)),
            ready: Vec::new(),
            late: Vec::new(),
            faults: setting.faults,
            ticks: 0,
            settled: true,
            lull: 0,
        };
        for seat in 0..setting.members {
            world.seat(seat).begin(now, setting);
        }
        for _ in 0..SESSION.as_nanos() / TICK.as_nanos() * 3 {
            world.rest();
            world.tick();
        }
        world.rest();
        assert!(world.all_led(), "{world:#?}");
        world
    }

    pub(super) fn seat(&mut self, seat: usize) -> &mut Seat {
        Arc::make_mut(&mut self.seats[seat])
    }

    pub(super) fn hub(&mut self) -> &mut Hub {
        Arc::make_mut(&mut self.hub)
    }

    /// Whether nothing is to be done at this instant any more.
    pub(super) fn rests(&self) -> bool {
        self.ready.is_empty() && self.seats.iter().all(|seat| seat.outbox.is_empty())
    }

    pub(super) fn tick(&mut self) {
        self.now = self.now + TICK;
        self.lull = self.lull.saturating_sub(1);
        let now = self.now;
        self.hub().handle_timeout(now);
        for seat in 0..self.seats.len() {
            if self.seats[seat].acts() {
                self.seat(seat).act(now);
            }
        }
        self.spread();
        self.collect();
    }

    /// Who reads the ledger hears at once what others state there.
    pub(super) fn spread(&mut self) {
        let now = self.now;
        for from in 0..self.seats.len() {
            if self.seats[from].said.is_empty() {
                continue;
            }
            let said = std::mem::take(&mut self.seat(from).said);
            for to in 0..self.seats.len() {
                if self.seats[to].acts() && self.seats[to].state != State::Cut {
                    self.seat(to).heed(now, &said);
                }
            }
        }
    }

    /// A request arrives; the answer, where there is one at once.
    pub(super) fn arrive(&mut self, seat: usize, outgoing: Outgoing) -> Option<Response> {
        if self.seats[seat].state == State::Deposed {
            // It writes no record for a heartbeat, and knows no offset of late; what needs a record
            // is never answered.
            return match outgoing.request {
                Request::Heartbeat { .. } => Some(Response::Done),
                Request::Offsets { .. } => Some(Response::Offsets(BTreeMap::new())),
                // Nothing has changed there, so it grants what the member names.
                Request::Beat(Beat { epoch: epoch @ 1.., owned: Some(owned), .. }) => {
                    let assignment = Some(owned.into_iter().collect());
                    Some(Response::Beaten(Beaten { epoch, interval: TICK * 2, assignment }))
                }
                Request::Session => Some(Response::Session(SESSION)),
                Request::FindCoordinator
                | Request::Join(_)
                | Request::Sync(_)
                | Request::Commit { .. }
                | Request::Leaders { .. }
                | Request::Beat(_)
                | Request::Members
                | Request::Leave { .. } => None,
            };
        }
        let now = self.now;
        let answer = self.hub().ask(now, seat, outgoing);
        self.collect();
        answer
    }

    pub(super) fn take(&mut self, seat: usize, id: RequestId, outcome: Outcome) {
        let now = self.now;
        self.seat(seat).take(now, id, outcome);
    }

    /// What the coordinator has ready is on its way.
    fn collect(&mut self) {
        while let Some((seat, id, response)) = self.hub().poll_reply() {
            self.send(seat, id, Some(response));
        }
    }

    fn send(&mut self, seat: usize, id: RequestId, outcome: Outcome) {
        if self.seats[seat].lives() && self.seats[seat].state != State::Cut {
            self.ready.push((seat, id, outcome));
        }
    }

    /// Another broker is to coordinate the group: who waits loses the connection.
    pub(super) fn depose(&mut self) {
        let now = self.now;
        for (seat, id) in self.hub().depose(now) {
            self.send(seat, id, None);
        }
    }

    /// Does everything that is to be done at this instant, the oldest first.
    pub(super) fn rest(&mut self) {
        for turn in 0_u32.. {
            assert!(turn < 10_000, "an instant that never ends");
            self.spread();
            if !self.ready.is_empty() {
                let (seat, id, outcome) = self.ready.remove(0);
                self.take(seat, id, outcome);
            } else if let Some(seat) =
                (0..self.seats.len()).find(|seat| !self.seats[*seat].outbox.is_empty())
            {
                let outgoing = self.seat(seat).outbox.remove(0);
                let id = outgoing.id;
                if let Some(response) = self.arrive(seat, outgoing) {
                    self.take(seat, id, Some(response));
                }
            } else {
                return;
            }
        }
    }

    /// Whether each partition is led, or no member could lead it.
    pub(super) fn all_led(&self) -> bool {
        let led = |k| self.leaders(k) > 0;
        !self.seats.iter().any(|seat| seat.lives()) || (0..WIDTH.get()).map(PartitionId).all(led)
    }

    fn leaders(&self, partition: PartitionId) -> usize {
        self.seats.iter().filter(|seat| seat.leads(self.now, partition)).count()
    }

    pub(super) fn led_once(&self) -> bool {
        (0..WIDTH.get()).map(PartitionId).all(|k| self.leaders(k) <= 1)
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, to: &mut H) {
        let mut identity = Identity::new();
        for (at, seat) in self.seats.iter().enumerate() {
            identity.part(self.now, at + 1, &**seat);
            for ready in self.ready.iter().filter(|ready| ready.0 == at) {
                identity.part(self.now, at + 1, ready);
            }
            for late in self.late.iter().filter(|late| late.seat() == at) {
                identity.part(self.now, at + 1, late);
            }
        }
        let hub = &self.hub;
        identity.part(hub.now(self.now), 0, &(&hub.core, hub.loads, hub.broker));
        if let Some((log, at)) = &hub.log {
            identity.part(*at, 0, log);
        }
        (self.faults, self.ticks, self.settled, self.lull, identity.finish()).hash(to);
    }
}

impl World {
    pub(super) fn identity(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}
