//! The network between members and brokers, and what a broker does with a request that arrives.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::world::{Happening, REBALANCE, SESSION, World};
use model::{Asker, ask};
use tandem::groups::{Coordinator, Token};
use tandem::ids::PartitionId;
use tandem::neli::membership::{Outgoing, Refusal, Request, RequestId, Response};
use tandem::time::Mono;

/// How a member's packets fare.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Link {
    #[default]
    Open,
    /// Held until an instant, and delivered then.
    Stalled(Mono),
    /// Connections are reset.
    Reset(Mono),
}

/// What the network remembers.
pub(super) struct Wires {
    rng: ChaCha8Rng,
    /// Requests of which the member has closed the connection: their answers go nowhere.
    closed: BTreeSet<(usize, u32, RequestId)>,
    /// What waits at the coordinator, of which epoch.
    parked: BTreeMap<Token, (usize, u32, RequestId, u32)>,
    tokens: u64,
    /// The next Join of a place is held for so long.
    pub(super) hold: BTreeMap<usize, VecDeque<Duration>>,
    /// The next answer to a place is held for so long.
    pub(super) hold_answer: BTreeMap<usize, Duration>,
    /// A place reaches only a deposed coordinator, until an instant.
    pub(super) deposed: BTreeMap<usize, Mono>,
    /// A place does not reach the leader of a partition, until an instant.
    pub(super) deaf: BTreeMap<(usize, PartitionId), Mono>,
    /// Members of another kind, which know of no silence.
    pub(super) foreign: BTreeSet<usize>,
    /// The next answer to a place is lost, its connection with it.
    pub(super) lose: BTreeMap<usize, u32>,
}

impl Wires {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            closed: BTreeSet::new(),
            parked: BTreeMap::new(),
            tokens: 0,
            hold: BTreeMap::new(),
            hold_answer: BTreeMap::new(),
            deposed: BTreeMap::new(),
            deaf: BTreeMap::new(),
            foreign: BTreeSet::new(),
            lose: BTreeMap::new(),
        }
    }

    fn latency(&mut self) -> Duration {
        Duration::from_micros(self.rng.random_range(100..4_000))
    }

    fn flips(&mut self) -> bool {
        self.rng.random()
    }

    pub(super) fn close(&mut self, place: usize, life: u32, id: RequestId) {
        self.closed.insert((place, life, id));
    }
}

impl World {
    fn link(&self, place: usize) -> Link {
        match self.places[place].link {
            Link::Stalled(until) | Link::Reset(until) if until <= self.now => Link::Open,
            link => link,
        }
    }

    pub(super) fn send(&mut self, place: usize, life: u32, outgoing: Outgoing) {
        let id = outgoing.id;
        let latency = self.wires.latency();
        let is_join = matches!(outgoing.request, Request::Join(_));
        let held = if is_join {
            self.wires.hold.get_mut(&place).and_then(VecDeque::pop_front)
        } else {
            None
        };
        let arrives = Happening::Arrives { place, life, outgoing };
        match (self.link(place), held) {
            (Link::Open, None) => self.after(latency, arrives),
            (Link::Open, Some(held)) => {
                self.disturbs_until(self.now + latency + held);
                self.after(latency + held, arrives);
            }
            // What was sent is delivered in the end, even if its sender is dead by then.
            (Link::Stalled(until), _) => self.at(until + latency, arrives),
            (Link::Reset(_), _) => {
                if self.wires.flips() {
                    self.after(latency, arrives);
                }
                self.wires.close(place, life, id);
                self.after(latency * 2, Happening::Lost { place, life, id });
            }
        }
    }

    fn answer(&mut self, place: usize, life: u32, id: RequestId, response: Response) {
        if self.wires.closed.contains(&(place, life, id)) {
            return;
        }
        let mut latency = self.wires.latency();
        if let Some(held) = self.wires.hold_answer.remove(&place) {
            latency += held;
            self.disturbs_until(self.now + latency);
        }
        if let Some(times) = self.wires.lose.get_mut(&place).filter(|times| **times > 0) {
            *times -= 1;
            return self.after(latency, Happening::Lost { place, life, id });
        }
        let epoch = self.epoch;
        let answered = Happening::Answered { place, life, id, epoch, response };
        match self.link(place) {
            Link::Open => self.after(latency, answered),
            Link::Stalled(until) => self.at(until + latency, answered),
            Link::Reset(_) => self.after(latency, Happening::Lost { place, life, id }),
        }
    }

    /// The connections of everything that waits at the coordinator are lost.
    pub(super) fn lose_parked(&mut self) {
        for (place, life, id, _) in std::mem::take(&mut self.wires.parked).into_values() {
            let latency = self.wires.latency();
            self.after(latency, Happening::Lost { place, life, id });
        }
    }

    /// Whether a place reaches only a deposed coordinator.
    pub(super) fn is_deposed_for(&self, place: usize) -> bool {
        self.wires.deposed.get(&place).is_some_and(|until| self.now < *until)
    }

    pub(super) fn coordinator_now(&self) -> Mono {
        self.away_since.unwrap_or(self.now) - self.away
    }

    pub(super) fn coordinator_alarm(&self) -> Option<Mono> {
        if self.away_since.is_some() {
            return None;
        }
        self.coordinator.poll_timeout().map(|at| at + self.away)
    }

    pub(super) fn coordinator_timeout(&mut self) {
        if self.away_since.is_none() {
            let now = self.coordinator_now();
            self.coordinator.handle_timeout(now);
            self.deliver();
        }
    }

    pub(super) fn forget_everything(&mut self) {
        self.epoch += 1;
        self.coordinator = Coordinator::new(self.coordinator.settings().clone());
    }

    /// A request reaches the broker to which it was sent.
    pub(super) fn arrive(&mut self, place: usize, life: u32, outgoing: Outgoing) {
        let Outgoing { id, to, request } = outgoing;
        if life < self.places[place].life && matches!(request, Request::Join(_)) {
            self.places[place].haunted = self.story.is_static;
        }
        if self.is_deposed_for(place) {
            // It writes no record for a heartbeat, and knows no offset of late; what needs a record
            // is never answered.
            match request {
                Request::Heartbeat { .. } => self.answer(place, life, id, Response::Done),
                Request::Offsets { .. } => {
                    self.answer(place, life, id, Response::Offsets(BTreeMap::new()));
                }
                Request::FindCoordinator
                | Request::Join(_)
                | Request::Sync(_)
                | Request::Commit { .. }
                | Request::Leaders { .. }
                | Request::Beat(_)
                | Request::Session
                | Request::Members
                | Request::Leave { .. } => {}
            }
            return;
        }
        let refuse = |refusal| Response::Refused { refusal, member_id: None };
        let right = to.as_ref().is_none_or(|broker| broker.id == self.broker);
        if self.away_since.is_some() {
            let response = match &request {
                Request::FindCoordinator => refuse(Refusal::CoordinatorNotAvailable),
                _ if !right => refuse(Refusal::NotCoordinator),
                // A broker that is gone resets; one that only loads says so.
                _ if self.wires.flips() => refuse(Refusal::CoordinatorLoadInProgress),
                _ => {
                    let latency = self.wires.latency();
                    return self.after(latency, Happening::Lost { place, life, id });
                }
            };
            return self.answer(place, life, id, response);
        }
        if request == Request::FindCoordinator {
            let broker = self.where_is_the_coordinator();
            return self.answer(place, life, id, Response::Coordinator(broker));
        }
        if !right {
            return self.answer(place, life, id, refuse(Refusal::NotCoordinator));
        }
        self.coordinate(place, life, id, request);
        self.deliver();
    }

    fn coordinate(&mut self, place: usize, life: u32, id: RequestId, request: Request) {
        self.wires.tokens += 1;
        let token = Token(self.wires.tokens);
        if request.waits_for_others() {
            self.wires.parked.insert(token, (place, life, id, self.epoch));
        }
        let request = self.as_sent(place, request);
        let asker = Asker { client_id: format!("m{place}.{life}"), ..asker(self, place, token) };
        let now = self.coordinator_now();
        if let Some(response) = ask(&mut self.coordinator, now, asker, token, request) {
            self.answer(place, life, id, response);
        }
    }

    /// Sends what the coordinator has ready.
    fn deliver(&mut self) {
        while let Some(reply) = self.coordinator.poll_reply() {
            let parked = self.wires.parked.remove(&reply.token);
            // A coordinator that was away meanwhile has lost the connection.
            let Some((place, life, id, epoch)) = parked else { continue };
            if epoch == self.epoch {
                self.answer(place, life, id, model::reply(reply.body));
            }
        }
    }
}

pub(super) fn asker(world: &World, place: usize, token: Token) -> Asker {
    Asker {
        client_id: String::new(),
        suffix: token.0.to_string(),
        instance_id: world.instance(place),
        session: SESSION,
        rebalance: REBALANCE,
    }
}
