//! A group of the newer protocol in virtual time, a millisecond a step: members, a network that
//! loses and holds what it carries, and the coordinator of the embedded broker.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use model::{Asker, ask};
use tandem::groups::consumer::{ConsumerSettings, TopicId};
use tandem::groups::{Coordinator, CoordinatorSettings, Token};
use tandem::ids::PartitionId;
use tandem::neli::membership::{
    Assignor, Broker, ConsumerConfig, ConsumerMember, GroupConfig, GroupEvent, Outgoing, Refusal,
    Request, RequestId, Response,
};
use tandem::neli::{Config, Heard, Membership, Neli, Pulse};
use tandem::observation::Mode;
use tandem::time::Mono;

use super::faults::{Fault, deposed};

pub(super) const SESSION: Duration = Duration::from_millis(1_000);
pub(super) const THRESHOLD: Duration = Duration::from_millis(800);
pub(super) const WIDTH: u32 = 5;

pub(super) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// What a test varies; the plants are mistakes.
#[derive(Debug, Clone)]
pub(super) struct Story {
    pub(super) seed: u64,
    pub(super) members: usize,
    pub(super) exclusive: bool,
    pub(super) hold: Duration,
    /// Members join again under the id that they had.
    pub(super) keeps_id: bool,
    /// Members send confirmations at once, although promises last for `hold`.
    pub(super) breaks_promises: bool,
    /// Members take the session for what it was when they began.
    pub(super) trusts_session: bool,
    /// How long a partition is silent before its owner gives way.
    pub(super) silence: Option<Duration>,
    /// How long the coordinator waits for a confirmation.
    pub(super) rebalance: Duration,
    /// Each with the milliseconds since the one before.
    pub(super) faults: Vec<(u64, Fault)>,
}

pub(super) struct Place {
    life: u32,
    pub(super) core: Option<ConsumerMember>,
    pub(super) neli: Option<Neli>,
    /// When the next life begins.
    pub(super) back: Option<Mono>,
    pub(super) stopped: Mono,
    pub(super) deaf: Mono,
    pub(super) dumb: Mono,
    pub(super) held: (Mono, Duration),
    /// Until when it reaches only a coordinator that was deposed and does not know it, and which.
    pub(super) deposed: (Mono, i32),
}

pub(super) enum Packet {
    Asks(Outgoing),
    Answers(RequestId, Option<Response>),
}

pub(super) struct World {
    pub(super) story: Story,
    pub(super) now: Mono,
    pub(super) places: Vec<Place>,
    pub(super) coordinator: Coordinator,
    /// The broker that coordinates the group.
    pub(super) broker: i32,
    rng: ChaCha8Rng,
    pub(super) packets: Vec<(Mono, usize, u32, Packet)>,
    faults: Vec<(Mono, Fault)>,
    /// The effects of all faults are over then.
    pub(super) calm: Mono,
    /// For how long any partition had two leaders.
    pub(super) doubled: u64,
    fenced: Vec<(usize, i64)>,
    /// Which partitions a member does not hear, and until when.
    pub(super) unheard: BTreeMap<(usize, PartitionId), Mono>,
    pub(super) log: Vec<String>,
}

impl World {
    pub(super) fn new(story: Story) -> Self {
        let consumer = ConsumerSettings {
            session: SESSION,
            heartbeat: ms(100),
            ..ConsumerSettings::default()
        };
        let settings = CoordinatorSettings { consumer, ..CoordinatorSettings::default() };
        let mut coordinator = Coordinator::new(settings);
        let now = Mono::ZERO + ms(10);
        coordinator.handle_topic(now, "t", TopicId(7), i32::try_from(WIDTH).unwrap());
        let (mut at, mut faults) = (now, Vec::new());
        for (after, fault) in story.faults.clone() {
            at = at + ms(after);
            faults.push((at, fault));
        }
        let place = |_| Place {
            life: 0,
            core: None,
            neli: None,
            back: Some(now),
            stopped: now,
            deaf: now,
            dumb: now,
            held: (now, Duration::ZERO),
            deposed: (now, 0),
        };
        Self {
            now,
            places: (0..story.members).map(place).collect(),
            coordinator,
            broker: 1,
            rng: ChaCha8Rng::seed_from_u64(story.seed),
            packets: Vec::new(),
            faults,
            calm: at,
            doubled: 0,
            fenced: vec![(usize::MAX, 0); usize::try_from(WIDTH).unwrap()],
            unheard: BTreeMap::new(),
            log: Vec::new(),
            story,
        }
    }

    fn begin(&mut self, place: usize) {
        let at = &mut self.places[place];
        (at.life, at.back) = (at.life + 1, None);
        let exclusive = self.story.exclusive;
        let group = GroupConfig {
            group: "g".parse().unwrap(),
            topic: "t".parse().unwrap(),
            width: NonZeroU32::new(WIDTH).unwrap(),
            instance: None,
            assignors: Assignor::Range.into(),
            session: SESSION,
            heartbeat: ms(100),
            rebalance: self.story.rebalance,
            renews_id: exclusive && !self.story.keeps_id,
            commit: exclusive.then(|| THRESHOLD / 4),
            gives_way: self.story.silence,
            hold: if self.story.breaks_promises { Duration::ZERO } else { self.story.hold },
            backoff: ms(20),
            backoff_max: ms(200),
            learns: None,
            wall_ms: 0,
            seed: self.story.seed ^ u64::from(at.life) << 8 ^ u64::try_from(place).unwrap(),
        };
        let id = format!("m{place}.{}", at.life);
        at.core = Some(ConsumerMember::new(self.now, ConsumerConfig { group, id }));
        let neli = Config {
            width: NonZeroU32::new(WIDTH).unwrap(),
            threshold: THRESHOLD,
            hold: self.story.hold,
            beacon: ms(100),
            mode: Mode::Exclusive,
            pulse: Pulse::Clock,
        };
        at.neli = exclusive.then(|| Neli::new(self.now, neli).taking_one_by_one());
    }

    pub(super) fn note(&mut self, text: &str) {
        self.log.push(format!("{:>6} {text}", self.now.0 / 1_000_000));
    }

    pub(super) fn run(&mut self, until: Mono) {
        while self.now < until {
            self.now = self.now + ms(1);
            self.step();
        }
    }

    fn step(&mut self) {
        let now = self.now;
        while let Some((at, _)) = self.faults.first()
            && *at <= now
        {
            let (_, fault) = self.faults.remove(0);
            self.inject(&fault);
        }
        for place in 0..self.places.len() {
            if self.places[place].back.is_some_and(|back| back <= now) {
                self.begin(place);
            }
        }
        self.deliver();
        self.coordinator.handle_timeout(now);
        for place in 0..self.places.len() {
            self.turn(place);
        }
        self.check();
    }

    fn deliver(&mut self) {
        let now = self.now;
        let stopped = |places: &[Place], place: usize, packet: &Packet| {
            matches!(packet, Packet::Answers(..)) && places[place].stopped > now
        };
        let mut due = Vec::new();
        let mut at = 0;
        while at < self.packets.len() {
            let (when, place, _, packet) = &self.packets[at];
            if *when <= now && !stopped(&self.places, *place, packet) {
                due.push(self.packets.remove(at));
            } else {
                at += 1;
            }
        }
        for (_, place, life, packet) in due {
            match packet {
                Packet::Asks(outgoing) => self.arrive(place, life, outgoing),
                Packet::Answers(id, response) => {
                    let shown = format!("m{place}.{life} <- {} {response:?}", id.0);
                    self.note(&shown);
                    let at = &mut self.places[place];
                    if let Some(core) = at.core.as_mut().filter(|_| at.life == life) {
                        match response {
                            Some(response) => core.handle_response(now, id, response),
                            None => core.handle_failure(now, id),
                        }
                    }
                }
            }
        }
    }

    fn arrive(&mut self, place: usize, life: u32, outgoing: Outgoing) {
        let Outgoing { id, to, request } = outgoing;
        let now = self.now;
        let (until, old) = self.places[place].deposed;
        let deposes = until > now;
        let asker = Asker { rebalance: self.story.rebalance, ..Asker::default() };
        let response = match request {
            Request::FindCoordinator => {
                let id = if deposes { old } else { self.broker };
                Some(Response::Coordinator(Broker { id, host: "h".to_owned(), port: 9092 }))
            }
            Request::Session if self.story.trusts_session => Some(Response::Session(SESSION)),
            request if deposes => deposed(request),
            _ if to.is_some_and(|to| to.id != self.broker) => {
                Some(Response::Refused { refusal: Refusal::NotCoordinator, member_id: None })
            }
            request => ask(&mut self.coordinator, now, asker, Token(0), request),
        };
        let Some(response) = response else { return };
        if self.places[place].dumb <= now {
            let at = now + ms(self.rng.random_range(0..4));
            self.packets.push((at, place, life, Packet::Answers(id, Some(response))));
        } else if self.rng.random() {
            self.packets.push((now + ms(3), place, life, Packet::Answers(id, None)));
        }
    }

    fn turn(&mut self, place: usize) {
        let now = self.now;
        let at = &mut self.places[place];
        let Some(core) = at.core.as_mut().filter(|_| at.stopped <= now) else { return };
        let unheard = &self.unheard;
        let is_deaf = |k| unheard.get(&(place, k)).is_some_and(|until| now < *until);
        let held: Vec<PartitionId> = core.held().collect();
        for partition in held.into_iter().filter(|k| !is_deaf(*k)) {
            core.handle_heard(now, partition);
        }
        core.handle_timeout(now);
        let mut ended = false;
        let (mut sent, mut notes) = (Vec::new(), Vec::new());
        loop {
            if let Some(event) = core.poll_event() {
                notes.push(format!("m{place}.{} == {event:?}", at.life));
                match &event {
                    GroupEvent::Group(change) => {
                        if let Some(neli) = &mut at.neli {
                            neli.handle_membership(now, change);
                        }
                        if !matches!(change, Membership::Assigned(_)) {
                            core.handle_curtailed(now);
                        }
                    }
                    GroupEvent::Left | GroupEvent::Failed(_) => ended = true,
                    GroupEvent::GaveWay(_) => {}
                }
            } else if core.poll_abandoned().is_some() {
            } else if let Some(outgoing) = core.poll_request(now) {
                notes.push(format!("m{place}.{} -> {:?}", at.life, outgoing));
                sent.push(outgoing);
            } else {
                break;
            }
        }
        if let Some(neli) = &mut at.neli {
            neli.handle_proof(now, core.proof().map(|proof| proof.since));
            for partition in core.held().filter(|k| !is_deaf(*k)) {
                neli.handle_heard(now, Heard { partition, sent: None });
                neli.handle_heard(now, Heard { partition, sent: None });
            }
            while neli.poll_event().is_some() || neli.poll_beacon().is_some() {}
        }
        if ended {
            at.core = None;
        }
        let (life, deaf, held) = (at.life, at.deaf, at.held);
        notes.iter().for_each(|note| self.note(note));
        for outgoing in sent {
            let holds = held.0 > now && outgoing.request != Request::FindCoordinator;
            let late = if holds { held.1 } else { Duration::ZERO };
            let arrives = now + ms(self.rng.random_range(0..4)) + late;
            if deaf <= now {
                self.packets.push((arrives, place, life, Packet::Asks(outgoing)));
            } else if self.rng.random() {
                let lost = Packet::Answers(outgoing.id, None);
                self.packets.push((now + ms(3), place, life, lost));
            }
        }
    }

    fn check(&mut self) {
        let now = self.now;
        for k in (0..WIDTH).map(PartitionId) {
            let leads = |place: &Place| place.neli.as_ref().is_some_and(|it| it.leads(now, k));
            let leaders: Vec<usize> =
                (0..self.places.len()).filter(|at| leads(&self.places[*at])).collect();
            if leaders.len() > 1 {
                self.doubled += 1;
                self.note(&format!("!! {leaders:?} lead {k}"));
            }
            let [leader] = leaders[..] else { continue };
            let fence = self.places[leader].core.as_ref().and_then(|core| core.fence(k));
            let Some(fence) = fence else { continue };
            let last = &mut self.fenced[usize::try_from(k.0).unwrap()];
            let rises = fence > last.1 || (fence == last.1 && last.0 == leader);
            assert!(rises, "{k} of m{leader} has {fence}, m{} had {}", last.0, last.1);
            *last = (leader, fence);
        }
    }

    /// Why the group is not settled, if it is not: each partition is held by one living member, and
    /// in exclusive mode led by it.
    pub(super) fn unsettled(&self) -> Option<String> {
        for k in (0..WIDTH).map(PartitionId) {
            let holds = |place: &&Place| {
                let led = place.neli.as_ref().is_none_or(|it| it.leads(self.now, k));
                led && place.core.as_ref().is_some_and(|core| core.held().any(|held| held == k))
            };
            let count = self.places.iter().filter(holds).count();
            if count != 1 {
                return Some(format!("{k} has {count} owners"));
            }
        }
        None
    }
}
