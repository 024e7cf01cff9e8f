//! A group in virtual time: members, a network that is disturbed, and the coordinator of the
//! embedded broker. What must hold at every instant is checked at every instant.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use tandem::groups::{Coordinator, CoordinatorSettings};
use tandem::ids::PartitionId;
use tandem::neli::membership::{
    Assignor, Broker, GroupConfig, GroupEvent, GroupMember, Outgoing, Refusal, RequestId, Response,
};
use tandem::neli::{Membership, Neli};
use tandem::time::Mono;

use super::faults::Fault;
use super::leaders::Proves;
use super::network::{Link, Wires};

pub(super) const SESSION: Duration = Duration::from_millis(1_000);
pub(super) const REBALANCE: Duration = Duration::from_millis(3_000);
/// The wall clock of the first place at zero. Each further one is so much behind.
const WALL_MS: i64 = 1_000_000;
const HEARTBEAT: Duration = Duration::from_millis(100);

pub(super) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// What a test draws.
#[derive(Debug, Clone)]
pub(super) struct Story {
    pub(super) seed: u64,
    pub(super) members: usize,
    pub(super) width: u32,
    pub(super) assignor: Assignor,
    pub(super) is_static: bool,
    pub(super) renews_id: bool,
    /// How long a partition is silent before its owner gives way.
    pub(super) silence: Option<Duration>,
    /// Members in exclusive mode, and how they prove their membership.
    pub(super) proves: Option<Proves>,
    pub(super) initial_delay_ms: u64,
    /// Each with the milliseconds since the one before.
    pub(super) faults: Vec<(u64, Fault)>,
}

/// One member process after the other in one place.
pub(super) struct Place {
    pub(super) life: u32,
    pub(super) core: Option<GroupMember>,
    /// Its claims, in exclusive mode.
    pub(super) neli: Option<Neli>,
    /// Until when it is stopped.
    pub(super) stopped: Mono,
    pub(super) link: Link,
    /// Why a life of it failed, if one did.
    pub(super) failed: Option<Refusal>,
    /// Whether a Join of a dead static life arrived late, which fences the living one.
    pub(super) haunted: bool,
}

/// Something that happens at an instant.
#[derive(Debug, Clone)]
pub(super) enum Happening {
    /// A request reaches a broker.
    Arrives {
        place: usize,
        life: u32,
        outgoing: Outgoing,
    },
    /// An answer reaches a member.
    Answered {
        place: usize,
        life: u32,
        id: RequestId,
        epoch: u32,
        response: Response,
    },
    /// A member learns that a connection is lost.
    Lost {
        place: usize,
        life: u32,
        id: RequestId,
    },
    Fault(Fault),
    /// A new life begins.
    Revived {
        place: usize,
    },
    CoordinatorBack,
    /// A stopped process runs again.
    Woken,
}

pub(super) struct World {
    pub(super) story: Story,
    pub(super) now: Mono,
    pub(super) places: Vec<Place>,
    pub(super) wires: Wires,
    pub(super) coordinator: Coordinator,
    /// A coordinator without its state has another number.
    pub(super) epoch: u32,
    /// The epoch of the answer that was delivered last.
    answering: u32,
    /// How long the coordinator was away so far: its clock stands still meanwhile.
    pub(super) away: Duration,
    /// Since when it is away.
    pub(super) away_since: Option<Mono>,
    /// The broker that coordinates the group.
    pub(super) broker: i32,
    queue: BTreeMap<(Mono, u64), Happening>,
    order: u64,
    /// How many faults are still to come.
    faults: usize,
    /// When the last effect of a fault is over: a packet that it held, a life that begins.
    calm_from: Mono,
    /// Who was given a partition in a generation of a coordinator.
    owners: BTreeMap<(u32, i32, PartitionId), usize>,
    /// Whether two members ever held one partition, sure of it or not.
    pub(super) was_doubled: bool,
    /// Whether two members ever led one partition.
    pub(super) was_led_twice: bool,
    /// Who led each partition last, and by which fence.
    pub(super) fenced: BTreeMap<PartitionId, (usize, i64)>,
    pub(super) log: Vec<String>,
}

impl World {
    pub(super) fn new(story: Story) -> Self {
        let settings = CoordinatorSettings {
            initial_delay: ms(story.initial_delay_ms),
            new_member_join: Duration::from_mins(5),
            ..CoordinatorSettings::default()
        };
        let wires = Wires::new(story.seed);
        let mut world = Self {
            now: Mono::ZERO + ms(10),
            places: Vec::new(),
            wires,
            coordinator: Coordinator::new(settings),
            epoch: 0,
            answering: 0,
            away: Duration::ZERO,
            away_since: None,
            broker: 1,
            queue: BTreeMap::new(),
            order: 0,
            faults: story.faults.len(),
            calm_from: Mono::ZERO,
            owners: BTreeMap::new(),
            was_doubled: false,
            was_led_twice: false,
            fenced: BTreeMap::new(),
            log: Vec::new(),
            story,
        };
        for place in 0..world.story.members {
            let link = Link::default();
            world.places.push(Place {
                life: 0,
                core: None,
                neli: None,
                stopped: Mono::ZERO,
                link,
                failed: None,
                haunted: false,
            });
            world.begin(place);
        }
        let mut at = world.now;
        for (after, fault) in world.story.faults.clone() {
            at = at + ms(after);
            world.at(at, Happening::Fault(fault));
        }
        world
    }

    pub(super) fn at(&mut self, at: Mono, what: Happening) {
        self.order += 1;
        self.queue.insert((at.max(self.now), self.order), what);
    }

    pub(super) fn has_faults(&self) -> bool {
        self.faults > 0
    }

    /// A fault has effects until then.
    pub(super) fn disturbs_until(&mut self, until: Mono) {
        self.calm_from = self.calm_from.max(until);
    }

    pub(super) fn calm_from(&self) -> Mono {
        self.calm_from.max(self.now)
    }

    pub(super) fn after(&mut self, wait: Duration, what: Happening) {
        self.at(self.now + wait, what);
    }

    pub(super) fn instance(&self, place: usize) -> Option<String> {
        self.story.is_static.then(|| format!("i{place}"))
    }

    pub(super) fn where_is_the_coordinator(&self) -> Broker {
        Broker { id: self.broker, host: "h".to_owned(), port: 9092 }
    }

    /// A new life in a place.
    pub(super) fn begin(&mut self, place: usize) {
        let life = self.places[place].life + 1;
        let config = GroupConfig {
            group: "g".parse().unwrap(),
            topic: "t".parse().unwrap(),
            width: NonZeroU32::new(self.story.width).unwrap(),
            instance: self.instance(place),
            assignors: self.story.assignor.into(),
            session: SESSION,
            heartbeat: HEARTBEAT,
            rebalance: REBALANCE,
            renews_id: self.story.renews_id,
            commit: self.story.proves.and_then(|it| it.commit),
            hold: self.story.proves.map_or(Duration::ZERO, |it| it.hold),
            gives_way: self.story.silence.filter(|_| !self.wires.foreign.contains(&place)),
            backoff: ms(20),
            backoff_max: ms(200),
            learns: None,
            wall_ms: -WALL_MS * i64::try_from(place).unwrap(),
            seed: self.story.seed ^ (u64::from(life) << 32) ^ u64::try_from(place).unwrap(),
        };
        let core = GroupMember::new(self.now, config);
        let neli = self.story.proves.map(|it| it.leads(self.now, self.story.width));
        let at = &mut self.places[place];
        (at.life, at.core, at.neli, at.stopped) = (life, Some(core), neli, Mono::ZERO);
        self.note(&format!("m{place}.{life} begins"));
    }

    pub(super) fn note(&mut self, text: &str) {
        self.log.push(format!("{:>6} {text}", self.now.0 / 1_000_000));
    }

    /// Lets everything happen that is due by `until`.
    pub(super) fn run(&mut self, until: Mono) {
        for turn in 0_u32.. {
            assert!(turn < 1_000_000, "an alarm that never ends");
            self.drain();
            let queued = self.queue.keys().next().map(|(at, _)| *at);
            let awake = self.places.iter().filter(|place| place.stopped <= self.now);
            let cores = awake.filter_map(|place| place.core.as_ref());
            let alarms = cores.filter_map(GroupMember::poll_timeout).min();
            let own = self.coordinator_alarm();
            let next = [queued, alarms, own].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= until) else {
                self.now = until;
                return self.drain();
            };
            self.now = self.now.max(next);
            // Members first: the coordinator gives them at least as long as they give themselves.
            for place in 0..self.places.len() {
                let now = self.now;
                if let Some(core) = self.awake(place) {
                    core.handle_timeout(now);
                }
            }
            self.drain();
            self.coordinator_timeout();
            if let Some((key, _)) = self.queue.first_key_value()
                && key.0 <= self.now
                && let Some((_, what)) = self.queue.pop_first()
            {
                self.happen(what);
            }
        }
    }

    fn happen(&mut self, what: Happening) {
        if let Happening::Answered { place, .. } | Happening::Lost { place, .. } = &what
            && self.places[*place].stopped > self.now
        {
            return self.at(self.places[*place].stopped, what);
        }
        match what {
            Happening::Woken => {}
            Happening::Arrives { place, life, outgoing } => self.arrive(place, life, outgoing),
            Happening::Answered { place, life, id, epoch, response } => {
                self.answering = epoch;
                self.note(&format!("m{place}.{life} <- {id:?} {}", shown(&response)));
                let now = self.now;
                if let Some(core) = self.life(place, life) {
                    core.handle_response(now, id, response);
                }
                self.drain();
            }
            Happening::Lost { place, life, id } => {
                self.note(&format!("m{place}.{life} <- {id:?} connection lost"));
                let now = self.now;
                if let Some(core) = self.life(place, life) {
                    core.handle_failure(now, id);
                }
            }
            Happening::Fault(fault) => {
                self.faults -= 1;
                self.inject(&fault);
            }
            Happening::Revived { place } => {
                if self.places[place].core.is_none() {
                    self.begin(place);
                }
            }
            Happening::CoordinatorBack => self.coordinator_back(),
        }
    }

    fn life(&mut self, place: usize, life: u32) -> Option<&mut GroupMember> {
        let at = &mut self.places[place];
        if at.life == life { at.core.as_mut() } else { None }
    }

    /// The member in a place, unless it is stopped.
    pub(super) fn awake(&mut self, place: usize) -> Option<&mut GroupMember> {
        let at = &mut self.places[place];
        if at.stopped <= self.now { at.core.as_mut() } else { None }
    }

    /// Takes everything out of every member, and looks at what must hold.
    fn drain(&mut self) {
        for place in 0..self.places.len() {
            let now = self.now;
            loop {
                let life = self.places[place].life;
                let Some(core) = self.awake(place) else { break };
                if let Some(event) = core.poll_event() {
                    self.see(place, life, &event);
                } else if let Some(id) = core.poll_abandoned() {
                    self.wires.close(place, life, id);
                } else if let Some(outgoing) = core.poll_request(now) {
                    self.note(&format!(
                        "m{place}.{life} -> {:?} {}",
                        outgoing.id,
                        asked(&outgoing)
                    ));
                    self.send(place, life, outgoing);
                } else {
                    break;
                }
            }
        }
        self.listen();
        self.lead();
        self.check_holders();
    }

    fn see(&mut self, place: usize, life: u32, event: &GroupEvent) {
        self.note(&format!("m{place}.{life} == {event:?}"));
        let now = self.now;
        if let (Some(neli), GroupEvent::Group(change)) = (&mut self.places[place].neli, event) {
            neli.handle_membership(now, change);
        }
        match event {
            GroupEvent::Group(Membership::Assigned(assignment)) => {
                let generation = assignment.generation.unwrap();
                for partition in &assignment.partitions {
                    let key = (self.answering, generation, *partition);
                    let owner = *self.owners.entry(key).or_insert(place);
                    let who = format!("m{owner} and m{place}");
                    assert_eq!(owner, place, "{partition} of generation {generation}: {who}");
                }
            }
            GroupEvent::Group(Membership::Revoked(_) | Membership::Lost(_))
            | GroupEvent::GaveWay(_) => {}
            GroupEvent::Left => self.places[place].core = None,
            GroupEvent::Failed(why) => {
                let at = &mut self.places[place];
                at.core = None;
                if at.haunted && *why == Refusal::FencedInstanceId {
                    // A supervisor starts it again.
                    at.haunted = false;
                    self.after(ms(100), Happening::Revived { place });
                } else {
                    at.failed = Some(*why);
                }
            }
        }
    }
}

fn asked(outgoing: &Outgoing) -> String {
    let mut text = format!("{:?}", outgoing.request);
    text.truncate(60);
    text
}

fn shown(response: &Response) -> String {
    let mut text = format!("{response:?}");
    text.truncate(110);
    text
}
