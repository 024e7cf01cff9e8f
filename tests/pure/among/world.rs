//! Members in virtual time: messages are late, lost and out of order; members stop, leave, die, and
//! start again with what is on their disks. Of an exclusive election two never lead one partition,
//! fences rise, and once the faults cease each partition is led within a bound, for good; of others
//! by one then. Mistakes of a shell are planted, and each is found.

mod finds;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use tandem::ids::PartitionId;
use tandem::neli::Event;
use tandem::neli::elections::among::{Config, Elects, Generation, Message, Peer, Votes};
use tandem::time::Mono;

use super::{Spoken, ms};
pub(super) use finds::*;

type Core<E> = super::Member<E>;
/// To whom a message goes, and from whom.
type Way<E> = (usize, Peer, Message<<E as Elects>::Word>);

const WIDTH: NonZeroU32 = NonZeroU32::new(2).unwrap();
const SESSION: u64 = 1_000;
/// The time between two looks at the world.
const STEP: u64 = 4;
/// When the faults cease.
const CALM: u64 = 15_000;
/// The latest that a message arrives.
const LATE: u64 = SESSION;
/// How long after the last late message each partition is led: promises and silence are over after
/// a session, then candidates stand one after the other, and ask again.
const LED: u64 = SESSION * 3 / 2;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Story {
    /// Members stop, leave, die, are mute, slow or apart at random.
    Random,
    /// A leader that one other does not hear stops, and the third starts again.
    Return,
    /// The answers to a leader are late, and then its heartbeats are lost.
    Late,
}

/// A mistake of the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// It reports votes as saved that are not on the disk.
    ForgetsVotes,
    /// It takes each answer for one to the last heartbeat.
    CountsFromTheAnswer,
    /// It begins a life after the first as if that had begun a session earlier.
    VotesAtOnce,
    /// It loses each word that would end a claim.
    Deaf,
}

#[derive(Debug, PartialEq, Eq)]
enum Wrong {
    TwoLead(u64),
    FenceStands(u64),
    TwoOfOneNumber(u64),
    LowerNumber(u64),
    NoneLeads(u64),
}

struct Member<E: Spoken> {
    core: Option<Core<E>>,
    disk: Option<Votes>,
    /// The save under way, and when it is done.
    saving: Option<(u64, u64, Votes)>,
    /// Until when it is stopped, and dead; until when what it says is lost, and what it is told is
    /// late.
    stopped: u64,
    dead: u64,
    leaves: bool,
    mute: u64,
    slow: u64,
}

impl<E: Spoken> Default for Member<E> {
    fn default() -> Self {
        let (core, disk, saving) = (None, None, None);
        Self { core, disk, saving, stopped: 0, dead: 0, leaves: false, mute: 0, slow: 0 }
    }
}

struct World<E: Spoken> {
    story: Story,
    now: u64,
    /// When a story begins, when it goes on, and its leader.
    begins: u64,
    goes_on: u64,
    leader: Option<usize>,
    chance: ChaCha12Rng,
    mistake: Mistake,
    members: Vec<Member<E>>,
    /// Until when two members do not reach each other.
    apart: BTreeMap<(usize, usize), u64>,
    /// Whether two never lead, or only not in the end.
    exclusive: bool,
    /// Whether no leader may begin in a number below another's before.
    rising: bool,
    /// By arrival: to whom, from whom.
    ways: BTreeMap<(u64, u64), Way<E>>,
    order: u64,
    /// When each member last sent a heartbeat of each partition.
    sent: BTreeMap<(usize, PartitionId), Mono>,
    /// The greatest fence of each partition, and whose it is.
    fences: BTreeMap<PartitionId, (u64, usize)>,
    /// Who has led in each number, where only one may.
    numbers: BTreeMap<(PartitionId, Generation), usize>,
}

fn peer(member: usize) -> Peer {
    Peer(u16::try_from(member).unwrap())
}

impl<E: Spoken> World<E> {
    fn new(seed: u64, story: Story, mistake: Mistake) -> Self {
        let mut chance = ChaCha12Rng::seed_from_u64(seed);
        let count = if story == Story::Random && seed.is_multiple_of(4) { 5 } else { 3 };
        // A clock that begins at zero knows no earlier instant.
        let now = 10 * SESSION;
        let begins = now + chance.random_range(2 * SESSION..3 * SESSION);
        let mut world = Self {
            story,
            now,
            begins,
            goes_on: begins + chance.random_range(SESSION..2 * SESSION),
            leader: None,
            chance,
            mistake,
            members: (0..count).map(|_| Member::default()).collect(),
            apart: BTreeMap::new(),
            exclusive: E::EXCLUSIVE,
            rising: false,
            ways: BTreeMap::new(),
            order: 0,
            sent: BTreeMap::new(),
            fences: BTreeMap::new(),
            numbers: BTreeMap::new(),
        };
        (0..count).for_each(|member| world.begin(member));
        world
    }

    fn begin(&mut self, member: usize) {
        let config = Config {
            me: peer(member),
            members: u16::try_from(self.members.len()).unwrap(),
            width: WIDTH,
            session: Duration::from_millis(SESSION),
            heartbeat: Duration::from_millis(SESSION / 10),
            seed: self.chance.random(),
        };
        let early = if self.mistake == Mistake::VotesAtOnce { SESSION } else { 0 };
        let Member { core, disk, saving, .. } = &mut self.members[member];
        let since = ms(self.now - if disk.is_some() { early } else { 0 });
        *saving = None;
        *core = Some(Core::new(since, config, disk.as_ref()));
    }

    fn run(mut self) -> Result<(), Wrong> {
        let calm = self.now + CALM;
        let led = calm + LATE + LED;
        while self.now < led + 3 * SESSION {
            self.now += STEP;
            self.disturb(calm);
            for member in 0..self.members.len() {
                let Member { core, stopped, dead, .. } = &self.members[member];
                if core.is_none() && *dead <= self.now {
                    self.begin(member);
                } else if core.is_some() && *stopped <= self.now {
                    self.turn(member)?;
                }
            }
            self.judge(led)?;
        }
        Ok(())
    }

    fn disturb(&mut self, calm: u64) {
        if self.story != Story::Random {
            return self.go_on(calm);
        }
        if self.now >= calm || !self.chance.random_ratio(1, 75) {
            return;
        }
        let count = self.members.len();
        let (one, other) = (self.chance.random_range(0..count), self.chance.random_range(0..count));
        let longest = if self.chance.random() { SESSION / 4 } else { 3 * SESSION };
        let until = (self.now + self.chance.random_range(1..longest)).min(calm);
        let what = self.chance.random_range(0..6);
        let member = &mut self.members[one];
        match what {
            0 => member.stopped = until,
            1 => member.mute = until,
            2 => member.slow = until,
            3 => (member.leaves, member.dead) = (true, until),
            4 => drop(self.apart.insert((one.min(other), one.max(other)), until)),
            _ => (member.core, member.saving, member.dead) = (None, None, until),
        }
    }

    fn go_on(&mut self, calm: u64) {
        let now = self.now;
        if self.leader.is_none() && self.begins <= now {
            self.leader = self.leaders(PartitionId(0)).first().copied();
            let Some(leader) = self.leader else { return };
            match self.story {
                Story::Return => {
                    let other = (leader + 1) % 3;
                    self.apart.insert((leader.min(other), leader.max(other)), calm);
                }
                Story::Late | Story::Random => self.members[leader].slow = calm,
            }
        } else if let Some(leader) = self.leader
            && (self.goes_on..self.goes_on + STEP).contains(&now)
        {
            match self.story {
                Story::Return => {
                    self.members[leader].stopped = calm;
                    let back = now + self.chance.random_range(1..SESSION / 2);
                    let third = &mut self.members[(leader + 2) % 3];
                    (third.core, third.saving, third.dead) = (None, None, back);
                }
                Story::Late | Story::Random => self.members[leader].mute = calm,
            }
        }
    }

    /// How long a message takes from one to the other, if it arrives.
    fn way(&mut self, from: usize, to: usize) -> Option<u64> {
        let now = self.now;
        let apart = self.apart.get(&(from.min(to), from.max(to))).is_some_and(|it| *it > now);
        let usual = self.chance.random_range(1..6);
        let late = self.chance.random_range(usual..LATE);
        let any = self.chance.random_range(0..60);
        if apart || self.members[from].mute > now || any == 0 {
            return None;
        }
        Some(if self.members[to].slow > now || any == 1 { late } else { usual })
    }

    fn turn(&mut self, at: usize) -> Result<(), Wrong> {
        let now = ms(self.now);
        let due: Vec<_> = self
            .ways
            .range(..=(self.now, u64::MAX))
            .filter(|(_, (to, ..))| *to == at)
            .map(|(key, _)| *key)
            .collect();
        let mut heard: Vec<_> = due.iter().filter_map(|key| self.ways.remove(key)).collect();
        if self.mistake == Mistake::CountsFromTheAnswer {
            for (_, _, message) in &mut heard {
                if let Some(sent) = self.sent.get(&(at, message.partition)) {
                    message.kind = E::counted_from(message.kind, *sent);
                }
            }
        }
        if self.mistake == Mistake::Deaf {
            heard.retain(|(_, _, message)| !E::ends_claims(message.kind));
        }
        let Member { core: Some(core), disk, saving, leaves, .. } = &mut self.members[at] else {
            return Ok(());
        };
        let leaves = std::mem::take(leaves);
        let mut rise = true;
        core.handle_timeout(now);
        for (_, from, message) in heard {
            core.handle_message(now, from, message);
            rise &= rises(core, at, &mut self.fences);
        }
        if let Some((number, _, votes)) = saving.take_if(|(_, done, _)| *done <= self.now) {
            if disk.is_none() || self.mistake != Mistake::ForgetsVotes {
                *disk = Some(votes);
            }
            core.handle_saved(now, number);
        }
        if leaves {
            core.handle_leave(now);
        }
        if let Some((number, votes)) = core.poll_save() {
            let done = self.now + self.chance.random_range(1..30);
            assert!(saving.replace((number, done, votes)).is_none(), "one save at a time");
        }
        let messages: Vec<_> = std::iter::from_fn(|| core.poll_message()).collect();
        for (to, message) in messages {
            if let Some(sent) = E::sent(message.kind) {
                self.sent.insert((at, message.partition), sent);
            }
            let number = (message.partition, message.generation);
            if E::is_leaders(message.kind) {
                self.leads_in(number, at)?;
            }
            if let Some(way) = self.way(at, usize::from(to.0)) {
                self.order += 1;
                let arrives = (self.now + way, self.order);
                self.ways.insert(arrives, (usize::from(to.0), peer(at), message));
            }
        }
        if leaves {
            (self.members[at].core, self.members[at].saving) = (None, None);
        }
        if rise { Ok(()) } else { Err(Wrong::FenceStands(self.now)) }
    }

    /// A leader says that it leads in this number.
    fn leads_in(&mut self, number: (PartitionId, Generation), at: usize) -> Result<(), Wrong> {
        let newer = number..=(number.0, Generation(u64::MAX));
        let newest = self.numbers.range(newer).next_back().map(|(newest, _)| *newest);
        let begins = !self.numbers.contains_key(&number);
        if *self.numbers.entry(number).or_insert(at) != at {
            return Err(Wrong::TwoOfOneNumber(self.now));
        }
        let lower = begins && newest.is_some();
        if lower && self.rising { Err(Wrong::LowerNumber(self.now)) } else { Ok(()) }
    }

    /// The members that claim the partition now, by their horizons, stopped or not.
    fn leaders(&self, partition: PartitionId) -> Vec<usize> {
        let leads = |core: &Core<E>| {
            core.claims().any(|it| it.partition == partition && ms(self.now) < it.until)
        };
        let all = self.members.iter().enumerate();
        let lead = all.filter(|(_, member)| member.core.as_ref().is_some_and(leads));
        lead.map(|(member, _)| member).collect()
    }

    fn judge(&self, led: u64) -> Result<(), Wrong> {
        for leaders in (0..WIDTH.get()).map(|k| self.leaders(PartitionId(k)).len()) {
            if leaders > 1 && (self.exclusive || self.now > led) {
                return Err(Wrong::TwoLead(self.now));
            } else if leaders == 0 && self.now > led {
                return Err(Wrong::NoneLeads(self.now));
            }
        }
        Ok(())
    }
}

/// Whether the fence of each new claim is greater than those before of others.
fn rises<E: Spoken>(
    core: &mut Core<E>,
    at: usize,
    fences: &mut BTreeMap<PartitionId, (u64, usize)>,
) -> bool {
    let mut rises = true;
    while let Some(event) = core.poll_event() {
        if let Event::Acquired { claim, .. } = event {
            let Some(fence) = core.fence(claim.partition).map(|fence| fence.0) else { continue };
            let before = fences.insert(claim.partition, (fence, at));
            rises &= before.is_none_or(|it| it.0 < fence || it == (fence, at));
        }
    }
    rises
}
