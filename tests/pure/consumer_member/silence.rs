//! Members of the newer protocol that reach their coordinator and not the leader of a partition:
//! they leave for a while, and others get it.

use std::collections::BTreeMap;
use std::time::Duration;

use tandem::ids::PartitionId;
use tandem::time::Mono;

use super::faults::Fault;
use super::world::{SESSION, Story, WIDTH, World, ms};
use super::worlds::scene;

/// `T` of non-exclusive groups, and of exclusive ones, where it is less than the session.
const THRESHOLDS: [(bool, Duration); 2] = [(false, ms(1_500)), (true, ms(800))];
/// A heartbeat of the others, and four packets of at most 4 ms; then a fence, which the new owner
/// reads and commits.
const MOVES: Duration = ms(100 + 4 * 4 + 4 * 4);
/// `B`, and the fence.
const REBALANCE: Duration = ms(2 * 100 + 4 * 8 + 16);
/// One heartbeat until an owner knows that a member is back, one until that has its share.
const RETURNS: Duration = ms(2 * 100 + 12 * 4);
/// Two heartbeats until a member asks who is left, and once more where one has left just then.
const ALONE: Duration = ms(3 * 100 + 4 * 4);

fn story(exclusive: bool, silence: Duration) -> Story {
    Story { exclusive, silence: Some(silence), ..scene(&[]) }
}

impl World {
    fn deafen(&mut self, place: usize, partition: PartitionId, lasts: Duration) {
        self.unheard.insert((place, partition), self.now + lasts);
    }

    fn holders(&self) -> BTreeMap<PartitionId, usize> {
        let cores =
            self.places.iter().enumerate().filter_map(|(at, it)| Some((at, it.core.as_ref()?)));
        cores.flat_map(|(at, core)| core.held().map(move |partition| (partition, at))).collect()
    }

    /// How often members gave way since the log had so many lines.
    fn gave_way(&self, lines: usize) -> usize {
        self.log[lines..].iter().filter(|line| line.contains("GaveWay")).count()
    }

    fn all_held(&self) -> bool {
        self.holders().len() == usize::try_from(WIDTH).unwrap()
    }
}

/// A world in which each partition has an owner.
fn settled(story: Story) -> World {
    let mut world = World::new(story);
    world.run(world.now + ms(1_490));
    assert_eq!(world.unsettled(), None, "{}", world.log.join("\n"));
    world
}

/// Runs until that is so; how long that took.
fn until(world: &mut World, within: Duration, wanted: impl Fn(&World) -> bool) -> Duration {
    let began = world.now;
    while !wanted(world) {
        let took = world.now.since(began);
        assert!(took <= within, "not after {took:?}:\n{}", world.log.join("\n"));
        world.run(world.now + ms(1));
    }
    world.now.since(began)
}

#[test]
fn a_partition_that_its_owner_alone_does_not_hear_becomes_another_members() {
    for (exclusive, silence) in THRESHOLDS {
        let mut world = settled(story(exclusive, silence));
        let (silent, owner) = world.holders().pop_first().unwrap();
        world.deafen(owner, silent, ms(600_000));
        let moved = |world: &World| world.holders().get(&silent).is_some_and(|at| *at != owner);
        let took = until(&mut world, silence + MOVES, moved);
        assert!(took + ms(2) >= silence, "{took:?}: too early");
        // It is back after a session, and nothing was without an owner.
        until(&mut world, SESSION + RETURNS, |world| {
            let returned = world.holders().values().any(|at| *at == owner);
            returned && world.all_held()
        });
        assert_eq!((world.gave_way(0), world.doubled), (1, 0));
        // The brokers may give it to that one again, which listens in vain for as long as before.
        let (end, mut missed, mut longest) = (world.now + ms(60_000), ms(0), ms(0));
        while world.now < end {
            world.run(world.now + ms(1));
            let able = world.holders().get(&silent).is_some_and(|at| *at != owner);
            missed = if able { ms(0) } else { missed + ms(1) };
            longest = longest.max(missed);
        }
        assert!(longest <= silence + REBALANCE * 2, "{longest:?}");
        assert_eq!(world.doubled, 0);
    }
}

/// What the brokers give it when it is back, it does not hear either.
#[test]
fn a_member_that_hears_nothing_leaves_once_per_silence_and_ever_less_often() {
    for (exclusive, silence) in THRESHOLDS {
        let mut world = settled(story(exclusive, silence));
        for partition in (0..WIDTH).map(PartitionId) {
            world.deafen(2, partition, ms(600_000));
        }
        let began = world.now;
        let mut left: Vec<Mono> = Vec::new();
        while world.now < began + ms(150_000) {
            let lines = world.log.len();
            world.run(world.now + ms(50));
            left.extend((world.gave_way(lines) > 0).then_some(world.now));
        }
        let apart: Vec<u64> = left.windows(2).map(|two| two[1].since(two[0]).as_secs()).collect();
        // The silence of what it is given, or the wait that doubles from a session to a minute.
        let rises = apart.is_sorted_by(|one, other| *one <= *other + 1);
        assert!(rises && apart.last() >= Some(&32) && left.len() <= 9, "{apart:?}");
        // It hears again: the next silence is a new one.
        world.unheard.clear();
        world.run(world.now + ms(62_000));
        assert_eq!(world.unsettled(), None);
        let (lines, owned) = (world.log.len(), world.holders());
        world.run(world.now + silence * 4);
        assert_eq!((world.gave_way(lines), world.holders()), (0, owned.clone()));
        let mine = owned.iter().find(|(_, at)| **at == 2).map(|(k, _)| *k);
        let mine = mine.expect("it has a share");
        world.deafen(2, mine, ms(600_000));
        let moved = |world: &World| world.holders().get(&mine).is_some_and(|at| *at != 2);
        until(&mut world, silence + MOVES, moved);
        assert_eq!(world.doubled, 0);
    }
}

/// No member may serve it, and none may take the others with it: not even where the owners of
/// three such partitions leave at the same instant.
#[test]
fn partitions_that_are_dead_for_all_leave_the_others_no_longer_than_a_moment() {
    for (exclusive, silence) in THRESHOLDS {
        let mut world = settled(story(exclusive, silence));
        let dead: BTreeMap<usize, PartitionId> =
            world.holders().into_iter().map(|(k, at)| (at, k)).collect();
        assert_eq!(dead.len(), 3);
        for (place, partition) in (0..3).flat_map(|place| dead.values().map(move |k| (place, *k))) {
            world.deafen(place, partition, ms(600_000));
        }
        let others: Vec<PartitionId> =
            (0..WIDTH).map(PartitionId).filter(|k| !dead.values().any(|it| it == k)).collect();
        let (end, lines) = (world.now + ms(60_000), world.log.len());
        let mut missing: BTreeMap<PartitionId, Duration> = BTreeMap::new();
        let mut longest = Duration::ZERO;
        while world.now < end {
            world.run(world.now + ms(1));
            let holders = world.holders();
            for partition in &others {
                let missed = missing.entry(*partition).or_default();
                *missed = if holders.contains_key(partition) { ms(0) } else { *missed + ms(1) };
                longest = longest.max(*missed);
            }
        }
        let gave_way = world.gave_way(lines);
        // Each member may meet each of them, and seven waits that double are longer.
        assert!((6..=3 * 3 * 7).contains(&gave_way), "{gave_way} times in a minute");
        let most = ALONE + RETURNS;
        assert!(longest <= most, "{longest:?}, allowed {most:?}");
        assert_eq!(world.doubled, 0);
    }
}

/// A member that was stopped has not listened.
#[test]
fn a_member_that_slept_does_not_take_that_for_silence() {
    for (exclusive, silence) in THRESHOLDS {
        let mut world = settled(story(exclusive, silence));
        world.inject(&Fault::Stop { place: 0, ms: 700 });
        world.run(world.now + ms(5_000));
        assert_eq!((world.gave_way(0), world.unsettled()), (0, None));
    }
}
