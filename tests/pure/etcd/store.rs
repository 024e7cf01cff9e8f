//! Members on a simulated store, in virtual time: answers and reports of watches are late at
//! random, the store is cut off, members die. Never do two lead one partition, and once the faults
//! cease each is led. Two mistakes of a shell are planted, and each is found.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use tandem::ids::PartitionId;
use tandem::neli::elections::etcd::{
    Answer, Config, Etcd, Holder, LeaseId, Request, Revision, Watched,
};
use tandem::neli::elections::over_store::OverStore;
use tandem::time::Mono;

const WIDTH: NonZeroU32 = NonZeroU32::new(2).unwrap();
const LEASE: u64 = 2_000;
/// The time between two looks at the world.
const STEP: u64 = 4;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Story {
    /// Three members are stopped and cut off at random, for 20 s.
    Random,
    /// One leads and dies for good while another begins.
    Relay,
}

/// A mistake of the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// It stamps a request when the answer arrives.
    CountsFromTheAnswer,
    /// It watches from the present revision.
    WatchesFromNow,
}

#[derive(Debug, PartialEq, Eq)]
enum Wrong {
    TwoLead(u64),
    NoneLeads,
}

/// What reaches a member.
enum Input {
    Answer(u64, Answer),
    Watched(u64, Watched),
}

/// What reaches the store: of which member, its number, and how long the answer takes.
struct Arriving {
    member: usize,
    number: u64,
    request: Request,
    back: u64,
}

struct World {
    story: Story,
    now: u64,
    /// When the faults cease, and when the first member dies.
    calm: u64,
    death: u64,
    chance: ChaCha12Rng,
    mistake: Mistake,
    members: Vec<Etcd>,
    /// Until when a member is stopped.
    stopped: Vec<u64>,
    /// Until when requests of a member are lost.
    cut: Vec<u64>,
    to_store: BTreeMap<(u64, u64), Arriving>,
    to_member: BTreeMap<(u64, u64), (usize, Input)>,
    order: u64,
    revision: i64,
    last_lease: i64,
    leases: BTreeMap<i64, u64>,
    keys: BTreeMap<PartitionId, Holder>,
    deletions: Vec<(PartitionId, Revision)>,
    /// The watches: of which member, its number.
    watches: BTreeSet<(usize, u64)>,
}

fn ms(at: u64) -> Mono {
    Mono::ZERO + Duration::from_millis(at)
}

impl World {
    fn new(seed: u64, story: Story, mistake: Mistake) -> Self {
        let mut chance = ChaCha12Rng::seed_from_u64(seed);
        let mut any = || chance.random_range(0..2 * LEASE);
        let (stopped, calm, death) = match story {
            Story::Random => (vec![0; 3], 20_000, u64::MAX),
            Story::Relay => (vec![0, any()], 2 * LEASE, any()),
        };
        let count = stopped.len();
        let lease = Duration::from_millis(LEASE);
        let config = Config { width: WIDTH, lease, keep_alive: lease / 10 };
        Self {
            story,
            now: 0,
            calm,
            death,
            chance,
            mistake,
            members: (0..count).map(|_| Etcd::new(Mono::ZERO, config)).collect(),
            stopped,
            cut: vec![0; count],
            to_store: BTreeMap::new(),
            to_member: BTreeMap::new(),
            order: 0,
            revision: 1,
            last_lease: 0,
            leases: BTreeMap::new(),
            keys: BTreeMap::new(),
            deletions: Vec::new(),
            watches: BTreeSet::new(),
        }
    }

    fn run(mut self) -> Result<(), Wrong> {
        // Each partition is led a while after the last fault.
        while self.now < self.calm + 3 * LEASE {
            self.now += STEP;
            self.disturb();
            self.serve();
            for member in 0..self.members.len() {
                if self.stopped[member] <= self.now {
                    self.turn(member);
                }
            }
            self.judge()?;
        }
        let led = (0..WIDTH.get()).all(|k| self.leaders(PartitionId(k)) == 1);
        if led { Ok(()) } else { Err(Wrong::NoneLeads) }
    }

    fn disturb(&mut self) {
        if self.death <= self.now {
            self.stopped[0] = u64::MAX;
        }
        let any = self.chance.random_ratio(1, 400);
        if self.story == Story::Random && self.now < self.calm && any {
            let member = self.chance.random_range(0..self.members.len());
            let until = self.now + self.chance.random_range(1..2 * LEASE);
            if self.chance.random() {
                self.stopped[member] = until;
            } else {
                self.cut[member] = until;
            }
        }
    }

    /// A way takes a few milliseconds, and in a cut as long as that.
    fn delay(&mut self, member: usize) -> u64 {
        let usual = self.chance.random_range(1..15);
        let cut = self.cut[member].saturating_sub(self.now);
        usual + cut
    }

    fn turn(&mut self, member: usize) {
        let now = self.now;
        self.members[member].handle_timeout(ms(now));
        let due: Vec<_> = self
            .to_member
            .iter()
            .filter(|((at, _), (to, _))| *at <= now && *to == member)
            .map(|(key, _)| *key)
            .collect();
        for key in due {
            match self.to_member.remove(&key) {
                Some((_, Input::Answer(number, answer))) => {
                    self.members[member].handle_answer(ms(now), number, answer);
                }
                Some((_, Input::Watched(number, watched))) => {
                    self.members[member].handle_watched(ms(now), number, watched);
                }
                None => {}
            }
        }
        loop {
            let (there, back) = (self.delay(member), self.delay(member));
            let stamp = match self.mistake {
                Mistake::CountsFromTheAnswer => now + there + back,
                Mistake::None | Mistake::WatchesFromNow => now,
            };
            let Some((number, request)) = self.members[member].poll_request(ms(stamp)) else {
                break;
            };
            // A watch may begin late.
            let slow = matches!(request, Request::Watch(_));
            let there = there + if slow { self.chance.random_range(0..LEASE / 2) } else { 0 };
            self.order += 1;
            let arriving = Arriving { member, number, request, back };
            self.to_store.insert((now + there, self.order), arriving);
        }
        while self.members[member].poll_event().is_some() {}
    }

    /// The store ends leases that are over, and answers.
    fn serve(&mut self) {
        let now = self.now;
        let over: Vec<i64> =
            self.leases.iter().filter(|(_, until)| **until <= now).map(|(id, _)| *id).collect();
        for id in over {
            self.end(id);
        }
        while let Some(((at, _), _)) = self.to_store.first_key_value()
            && *at <= now
        {
            let Some((_, arriving)) = self.to_store.pop_first() else { break };
            let Arriving { member, number, request, back } = arriving;
            if let Some(answer) = self.answer(member, number, request, back) {
                self.send(member, back, Input::Answer(number, answer));
            }
        }
    }

    fn send(&mut self, member: usize, back: u64, input: Input) {
        self.order += 1;
        self.to_member.insert((self.now + back, self.order), (member, input));
    }

    fn end(&mut self, id: i64) -> bool {
        let existed = self.leases.remove(&id).is_some();
        let bound = |holder: &Holder| holder.lease == LeaseId(id);
        let gone: Vec<_> =
            self.keys.iter().filter(|(_, it)| bound(it)).map(|(key, _)| *key).collect();
        if !gone.is_empty() {
            self.revision += 1;
        }
        for key in gone {
            self.keys.remove(&key);
            let at = Revision(self.revision);
            self.deletions.push((key, at));
            for (member, number) in self.watches.clone() {
                let back = self.delay(member);
                self.send(member, back, Input::Watched(number, Watched::Deleted(key, at)));
            }
        }
        existed
    }

    fn answer(&mut self, to: usize, number: u64, request: Request, back: u64) -> Option<Answer> {
        let length = Duration::from_millis(LEASE);
        let at = Revision(self.revision);
        Some(match request {
            Request::Grant(_) => {
                self.last_lease += 1;
                self.leases.insert(self.last_lease, self.now + LEASE);
                Answer::Granted(LeaseId(self.last_lease), length)
            }
            Request::KeepAlive(LeaseId(id)) => match self.leases.get_mut(&id) {
                Some(until) => {
                    *until = self.now + LEASE;
                    Answer::KeptAlive(length)
                }
                None => Answer::NoLease,
            },
            Request::Read => Answer::Keys(at, self.keys.clone()),
            Request::Watch(from) => {
                self.watches.retain(|(member, _)| *member != to);
                self.watches.insert((to, number));
                let from = if self.mistake == Mistake::WatchesFromNow { at } else { from };
                for (key, at) in self.deletions.clone() {
                    if at >= from && self.mistake != Mistake::WatchesFromNow {
                        self.send(to, back, Input::Watched(number, Watched::Deleted(key, at)));
                    }
                }
                return None;
            }
            Request::Create(_, LeaseId(id)) if !self.leases.contains_key(&id) => Answer::NoLease,
            Request::Create(key, lease) => {
                if !self.keys.contains_key(&key) {
                    self.revision += 1;
                    self.keys.insert(key, Holder { lease, created: Revision(self.revision) });
                }
                Answer::Held(Revision(self.revision), self.keys[&key])
            }
            Request::Revoke(LeaseId(id)) => {
                if self.end(id) {
                    Answer::Revoked
                } else {
                    Answer::NoLease
                }
            }
        })
    }

    /// How many members claim the partition now, by their horizons, stopped or not.
    fn leaders(&self, partition: PartitionId) -> usize {
        let leads = |member: &&Etcd| {
            member.claims().any(|it| it.partition == partition && ms(self.now) < it.until)
        };
        self.members.iter().filter(leads).count()
    }

    fn judge(&self) -> Result<(), Wrong> {
        let two = (0..WIDTH.get()).any(|k| self.leaders(PartitionId(k)) > 1);
        if two { Err(Wrong::TwoLead(self.now)) } else { Ok(()) }
    }
}

const SEEDS: std::ops::Range<u64> = 0..40;

#[test]
fn two_never_lead_and_all_are_led_in_the_end() {
    for seed in SEEDS {
        for story in [Story::Random, Story::Relay] {
            let outcome = World::new(seed, story, Mistake::None).run();
            assert_eq!(outcome, Ok(()), "{story:?}, seed {seed}");
        }
    }
}

#[test]
fn a_lease_counted_from_the_answer_makes_two_leaders() {
    let run = |seed| World::new(seed, Story::Random, Mistake::CountsFromTheAnswer).run();
    let found = SEEDS.filter_map(|seed| run(seed).err());
    let two = found.filter(|wrong| matches!(wrong, Wrong::TwoLead(_))).count();
    assert!(two > 0, "the planted mistake is not found");
}

#[test]
fn a_watch_from_the_present_misses_a_deletion() {
    let run = |seed| World::new(seed, Story::Relay, Mistake::WatchesFromNow).run();
    let found = SEEDS.filter_map(|seed| run(seed).err());
    let stuck = found.filter(|wrong| *wrong == Wrong::NoneLeads).count();
    assert!(stuck > 0, "the planted mistake is not found");
}
