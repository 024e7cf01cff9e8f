//! Members that reach their coordinator and not the leader of a partition: others get it, and
//! nothing else moves.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use support::cases::cases;
use tandem::ids::PartitionId;
use tandem::neli::membership::{
    Assignor, Candidate, GroupMember, Request, Sync, encode_assignment, heeds_unreachable,
};

use super::faults::Fault;
use super::groups::{LONGEST_MS, bound, calms, fault, scene};
use super::leaders::BOTH;
use super::world::{SESSION, Story, World, ms};

/// `T`.
pub(super) const SILENCE: Duration = Duration::from_millis(1_500);
/// `B`: a heartbeat of the others, and six packets of at most 4 ms.
pub(super) const REBALANCES: Duration = Duration::from_millis(100 + 6 * 4);
/// The last sign of a partition is at most so old when it falls silent: each looks as often.
const AGE: Duration = Duration::from_millis(100);

const LONG_MS: u64 = 20_000;

impl World {
    fn is_deaf(&self, place: usize, partition: PartitionId) -> bool {
        self.wires.deaf.get(&(place, partition)).is_some_and(|until| self.now < *until)
    }

    pub(super) fn deafen(&mut self, place: Option<usize>, partition: u32, lasts: Duration) {
        let partition = PartitionId(partition % self.story.width);
        let until = self.now + lasts;
        let all = self.places.len();
        let places = place.map_or(0..all, |place| place % all..place % all + 1);
        for place in places {
            self.wires.deaf.insert((place, partition), until);
        }
    }

    /// Every member that runs hears what it holds, and its messages arrive, where it is not deaf.
    pub(super) fn listen(&mut self) {
        let (now, width) = (self.now, self.story.width);
        if self.story.silence.is_none() {
            return;
        }
        for place in 0..self.places.len() {
            if let Some(core) = self.awake(place) {
                core.handle_publishing(now);
            }
            for partition in (0..width).map(PartitionId) {
                if self.is_deaf(place, partition) {
                    continue;
                }
                if let Some(core) = self.awake(place) {
                    core.handle_delivered(now, partition);
                    if core.held().any(|held| held == partition) {
                        core.handle_heard(now, partition);
                    }
                }
            }
        }
    }

    /// A leader of another kind shares out the partitions and does not heed what members say.
    pub(super) fn as_sent(&self, place: usize, request: Request) -> Request {
        let Request::Sync(sync) = request else { return request };
        if !self.wires.foreign.contains(&place) || sync.assignments.is_empty() {
            return Request::Sync(sync);
        }
        let member = |(id, _): &(String, Vec<u8>)| Candidate {
            member_id: id.clone(),
            topics: ["t".to_owned()].into(),
            ..Candidate::default()
        };
        let members: Vec<Candidate> = sync.assignments.iter().map(member).collect();
        let topics = [("t".to_owned(), self.story.width)].into();
        let shares = self.story.assignor.assign(&topics, &members);
        let assignments = shares.into_iter().map(|(id, share)| {
            let mut share = encode_assignment(&share);
            share.pop();
            share.push(b'?');
            assert!(!heeds_unreachable(&share));
            (id, share)
        });
        let assignments = assignments.collect();
        Request::Sync(Sync { assignments, ..sync })
    }

    /// Which place holds each partition.
    pub(super) fn holders(&self) -> BTreeMap<PartitionId, usize> {
        let cores =
            self.places.iter().enumerate().filter_map(|(at, it)| Some((at, it.core.as_ref()?)));
        cores.flat_map(|(at, core)| core.held().map(move |partition| (partition, at))).collect()
    }

    pub(super) fn latest(&self) -> i32 {
        self.generations().into_iter().flatten().max().unwrap_or_default()
    }

    /// How often members gave way so far.
    fn gave_way(&self) -> usize {
        self.gave_way_since(0)
    }

    /// The same since the log had so many lines: to read all of it at each step would take most of
    /// the time of these tests.
    fn gave_way_since(&self, lines: usize) -> usize {
        self.log[lines..].iter().filter(|line| line.contains("GaveWay")).count()
    }
}

pub(super) fn story(faults: &[(u64, Fault)]) -> Story {
    Story { silence: Some(SILENCE), ..scene(true, faults) }
}

/// A world at 1.5 s, settled, and who holds each partition there.
pub(super) fn settled(story: Story) -> (World, BTreeMap<PartitionId, usize>) {
    let mut world = World::new(story);
    world.run(world.now + ms(1_490));
    let holders = world.holders();
    assert_eq!(holders.len(), 6, "{}", world.log.join("\n"));
    (world, holders)
}

/// Runs until the holders are as wanted, for at most `within`; how long that took.
pub(super) fn until(
    world: &mut World,
    within: Duration,
    wanted: impl Fn(&World, &BTreeMap<PartitionId, usize>) -> bool,
) -> Duration {
    let began = world.now;
    while !wanted(world, &world.holders()) {
        let took = world.now.since(began);
        assert!(took <= within, "not after {took:?}:\n{}", world.log.join("\n"));
        world.run(world.now + ms(1));
    }
    world.now.since(began)
}

const ASSIGNORS: [Assignor; 3] = [Assignor::Range, Assignor::RoundRobin, Assignor::Sticky];

#[test]
fn a_partition_that_its_owner_alone_does_not_reach_moves_and_nothing_else_does() {
    for assignor in ASSIGNORS {
        for proves in [None, Some(BOTH)] {
            let (mut world, before) = settled(Story { assignor, proves, ..story(&[]) });
            let (&silent, &owner) = before.first_key_value().unwrap();
            world.deafen(Some(owner), silent.0, ms(LONG_MS));
            let took = until(&mut world, SILENCE + REBALANCES, |_, holders| {
                holders.len() == before.len() && holders[&silent] != owner
            });
            assert!(took + AGE >= SILENCE, "{took:?}: too early");
            let after = world.holders();
            let others = |it: &BTreeMap<_, _>| {
                it.iter()
                    .filter(|(k, _)| **k != silent)
                    .map(|(k, at)| (*k, *at))
                    .collect::<Vec<_>>()
            };
            assert_eq!(others(&after), others(&before), "{assignor}: nothing else moves");
            let generation = world.latest();
            world.run(world.now + ms(LONG_MS * 2));
            assert_eq!((world.holders(), world.latest()), (after, generation), "it rests");
            assert_eq!(world.gave_way(), 1);
            assert!(!world.was_led_twice);
        }
    }
}

/// Its new owner is deaf as well, and says so before it is given the partition.
#[test]
fn it_goes_to_a_member_that_reaches_it() {
    for assignor in ASSIGNORS {
        let (mut world, before) = settled(Story { assignor, ..story(&[]) });
        let (&silent, &owner) = before.first_key_value().unwrap();
        let able = (owner + 1) % 3;
        for place in (0..3).filter(|place| *place != able) {
            world.deafen(Some(place), silent.0, ms(LONG_MS));
        }
        until(&mut world, SILENCE + REBALANCES, |_, holders| holders.get(&silent) == Some(&able));
        world.run(world.now + ms(LONG_MS / 2));
        assert_eq!((world.gave_way(), world.holders()[&silent]), (1, able));
    }
}

#[test]
fn a_partition_that_no_member_reaches_moves_nothing_and_is_tried_ever_less_often() {
    for assignor in ASSIGNORS {
        let (mut world, before) = settled(Story { assignor, ..story(&[]) });
        let (&silent, &owner) = before.first_key_value().unwrap();
        let began = world.now;
        world.deafen(None, silent.0, ms(1_000_000));
        let mut tried = Vec::new();
        while world.now < began + ms(300_000) {
            let lines = world.log.len();
            world.run(world.now + ms(50));
            if world.gave_way_since(lines) > 0 {
                tried.push(world.now.since(began).as_secs());
            }
            let holders = world.holders();
            assert!(holders.iter().all(|(k, at)| before[k] == *at), "{assignor}: it wanders");
        }
        // After T; then each T or the wait that has doubled from a session, whichever is longer.
        assert_eq!(tried, [1, 3, 5, 9, 17, 33, 65, 125, 185, 245], "{assignor}");
        // Another one reaches it again, and its owner does not: it is there at the next turn.
        let able = (owner + 1) % 3;
        world.wires.deaf.remove(&(able, silent));
        until(&mut world, ms(61_000), |_, holders| holders.get(&silent) == Some(&able));
    }
}

#[test]
fn several_that_fall_silent_at_once_move_together() {
    for assignor in ASSIGNORS {
        let (mut world, before) = settled(Story { assignor, ..story(&[]) });
        let first: BTreeMap<usize, PartitionId> =
            before.iter().rev().map(|(k, at)| (*at, *k)).collect();
        // Each member is cut off from a partition of its own.
        for (&place, &partition) in &first {
            world.deafen(Some(place), partition.0, ms(LONG_MS));
        }
        until(&mut world, SILENCE + REBALANCES + AGE, |_, holders| {
            holders.len() == 6 && first.iter().all(|(place, k)| holders[k] != *place)
        });
        let (after, generation) = (world.holders(), world.latest());
        world.run(world.now + ms(LONG_MS / 2));
        assert_eq!((world.holders(), world.latest()), (after, generation), "{assignor}");
    }
}

/// The leader knows of no silence: the member leaves, and stays away for longer each time.
#[test]
fn under_a_foreign_leader_it_leaves_once_per_silence_and_ever_less_often() {
    let (mut world, _) = (World::new(story(&[])), ());
    world.wires.foreign = [0, 1].into();
    for place in 0..3 {
        world.begin(place);
    }
    // No member of our kind leads: the third joins when the others are there.
    world.places[2].core = None;
    world.run(world.now + ms(4_000));
    world.begin(2);
    world.run(world.now + ms(1_000));
    let mine = |world: &World| -> BTreeSet<PartitionId> {
        world.holders().into_iter().filter(|(_, at)| *at == 2).map(|(k, _)| k).collect()
    };
    let began = world.now;
    assert_eq!(mine(&world).len(), 2, "{}", world.log.join("\n"));
    for partition in 0..6 {
        world.deafen(Some(2), partition, ms(1_000_000));
    }
    let within = SILENCE + REBALANCES;
    until(&mut world, within, |_, holders| {
        holders.len() == 6 && holders.values().all(|at| *at < 2)
    });
    let mut left = vec![world.now.since(began)];
    while world.now < began + ms(200_000) {
        let lines = world.log.len();
        world.run(world.now + ms(50));
        if world.gave_way_since(lines) > 0 {
            left.push(world.now.since(began));
        }
    }
    let away: Vec<u64> = left.windows(2).map(|two| (two[1] - two[0]).as_secs()).collect();
    // Each time it is away, joins, and hears nothing for T.
    assert_eq!(away, [2, 3, 5, 9, 17, 33, 61, 61], "{}", world.log.join("\n"));
    // It hears again: the next silence is a new one.
    world.wires.deaf.clear();
    world.run(world.now + ms(70_000));
    assert_eq!(mine(&world).len(), 2);
    let times = world.gave_way();
    world.run(world.now + ms(20_000));
    assert_eq!(world.gave_way(), times);
}

/// A member that was stopped has not listened, and a partition without a leader is better nowhere.
#[test]
fn a_member_that_slept_does_not_take_that_for_silence() {
    let (mut world, before) = settled(story(&[]));
    world.inject(&Fault::Stop { place: 0, ms: 900 });
    world.run(world.now + ms(5_000));
    assert_eq!((world.gave_way(), world.holders()), (0, before));
}

fn deaf() -> impl Strategy<Value = Fault> {
    let place = prop_oneof![3 => (0_usize..4).prop_map(Some), 1 => Just(None)];
    let lasts = prop_oneof![1 => 1..LONGEST_MS, 2 => Just(10_000_000)];
    (place, 0_u32..8, lasts).prop_map(|(place, partition, ms)| Fault::Deaf { place, partition, ms })
}

fn stories() -> impl Strategy<Value = Story> {
    let assignor = prop_oneof![
        Just(Assignor::Range),
        Just(Assignor::RoundRobin),
        Just(Assignor::Sticky),
        Just(Assignor::CooperativeSticky),
    ];
    let faults = prop::collection::vec((0_u64..2_000, prop_oneof![fault(), deaf()]), 1..8);
    let proves = prop_oneof![Just(None), Just(Some(BOTH))];
    (any::<u64>(), 2_usize..=4, 1_u32..=8, assignor, proves, faults).prop_map(
        |(seed, members, width, assignor, proves, faults)| {
            let proves = proves.filter(|_| !assignor.is_cooperative());
            Story { seed, members, width, assignor, proves, ..story(&faults) }
        },
    )
}

impl World {
    fn living(&self) -> impl Iterator<Item = &GroupMember> {
        self.places.iter().filter_map(|it| it.core.as_ref())
    }

    /// The partitions that a living member reaches and that are held by one which does not.
    fn misplaced(&self) -> Vec<PartitionId> {
        let holders = self.holders();
        let lives = |place: &usize| self.places[*place].core.is_some();
        let reaches = |place: &usize, k| !self.is_deaf(*place, k);
        let wrong = |k: &PartitionId| {
            let able = (0..self.places.len()).filter(lives).any(|place| reaches(&place, *k));
            able && holders.get(k).is_none_or(|holder| !reaches(holder, *k))
        };
        (0..self.story.width).map(PartitionId).filter(wrong).collect()
    }
}

/// The longest that a member waits after the few times that it gives way in a story.
const WAITS: Duration = Duration::from_secs(8);

/// In the end each partition that a member reaches is held by one that does, and stays there.
fn rests_where_it_is_reached(story: &Story) -> Result<(), TestCaseError> {
    let mut world = World::new(story.clone());
    let calm = calms(&mut world);
    let within = bound(story) + (SILENCE + REBALANCES) * 3 + WAITS;
    world.run(calm + within);
    let log = |world: &World| format!("{story:#?}\n{}", world.log.join("\n"));
    let is_dead =
        |k| (0..story.members).all(|at| world.places[at].core.is_none() || world.is_deaf(at, k));
    let dead = (0..story.width).map(PartitionId).any(is_dead);
    // What is dead for all is tried again now and then: the look may fall into a rebalance, in
    // which no member holds anything.
    let end = world.now + REBALANCES;
    while dead && !world.living().all(GroupMember::is_stable) && world.now < end {
        world.run(world.now + ms(1));
    }
    prop_assert!(world.misplaced().is_empty(), "{:?} {}", world.misplaced(), log(&world));
    if world.living().count() == 0 {
        return Ok(());
    }
    prop_assert!(world.living().all(GroupMember::is_stable), "{}", log(&world));
    let (owners, generation) = (world.holders(), world.latest());
    prop_assert_eq!(owners.len(), usize::try_from(story.width).unwrap(), "{}", log(&world));
    for _ in 0..200 {
        world.run(world.now + ms(100));
        let moved = world.holders().iter().any(|(k, at)| owners[k] != *at);
        prop_assert!(!moved, "{}", log(&world));
    }
    prop_assert!(dead || world.latest() == generation, "{}", log(&world));
    prop_assert!(!world.was_led_twice, "{}", log(&world));
    prop_assert!(world.now.since(calm) > SESSION);
    Ok(())
}

/// The look of the property falls into the rebalance that tries a dead partition again.
#[test]
fn a_look_into_a_rebalance_finds_nothing_misplaced() {
    const FOR_GOOD_MS: u64 = 10_000_000;
    let faults = [
        (1_481, Fault::Deaf { place: None, partition: 1, ms: FOR_GOOD_MS }),
        (1_053, Fault::Reset { place: 2, ms: 900 }),
        (733, Fault::HoldAnswer { place: 0, ms: 1 }),
        (1_023, Fault::Reset { place: 0, ms: 1_348 }),
        (0, Fault::Deaf { place: None, partition: 2, ms: FOR_GOOD_MS }),
    ];
    let pair = Story { seed: 3_894_979_777_739_995_174, members: 2, width: 3, ..story(&faults) };
    rests_where_it_is_reached(&Story { assignor: Assignor::Sticky, ..pair }).unwrap();
}

proptest! {
    #![proptest_config(cases(0x5EED_0016, 80))]

    #[test]
    fn silence_gives_way_and_then_nothing_moves(story in stories()) {
        rests_where_it_is_reached(&story)?;
    }
}
