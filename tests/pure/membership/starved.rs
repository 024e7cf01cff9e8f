//! A member that was given nothing, because it said that it does not reach what would have been its
//! share, joins again when it reaches some of that.

use std::collections::BTreeMap;
use std::time::Duration;

use tandem::ids::PartitionId;
use tandem::neli::membership::{Assignor, GroupMember};

use super::faults::Fault;
use super::silence::{REBALANCES, SILENCE, settled, story, until};
use super::world::{SESSION, Story, World, ms};

type Holders = BTreeMap<PartitionId, usize>;

const LONG_MS: u64 = 1_000_000;
/// Others may follow the first sign.
const FOLLOWING: Duration = Duration::from_micros(187_500);

fn starves(holders: &Holders, width: usize) -> bool {
    holders.len() == width && holders.values().all(|place| *place != 0)
}

fn is_even(holders: &Holders) -> bool {
    let share = |place: usize| holders.values().filter(|at| **at == place).count();
    (0..3).all(|place| share(place) == 2)
}

impl World {
    /// The first place reaches nothing for so long.
    fn cut_off(&mut self, lasts: Duration) {
        (0..self.story.width).for_each(|partition| self.deafen(Some(0), partition, lasts));
    }

    /// Another member leaves, and comes back.
    fn rebalance(&mut self) {
        self.inject(&Fault::Leave { place: 1, back_after_ms: Some(20) });
    }

    fn rests(&mut self, lasts: Duration) {
        let (holders, generation) = (self.holders(), self.latest());
        self.run(self.now + lasts);
        let log = || self.log.join("\n");
        assert_eq!((self.holders(), self.latest()), (holders, generation), "{}", log());
    }

    fn first(&mut self) -> &mut GroupMember {
        self.places[0].core.as_mut().unwrap()
    }
}

/// Its coordinator is reached all the time, and the other brokers not for a while, in which the
/// group happens to rebalance.
#[test]
fn a_member_whose_brokers_come_back_gets_a_share_again() {
    let eager = [Assignor::Range, Assignor::RoundRobin, Assignor::Sticky];
    for assignor in eager.into_iter().chain([Assignor::CooperativeSticky]) {
        let (mut world, _) = settled(Story { assignor, ..story(&[]) });
        let healed = world.now + SILENCE - ms(50);
        world.cut_off(SILENCE - ms(50));
        world.run(world.now + ms(900));
        world.rebalance();
        until(&mut world, ms(540), |_, holders| starves(holders, 6));
        world.run(healed);
        assert!(starves(&world.holders(), 6), "{assignor}: {}", world.log.join("\n"));
        let rebalances = if assignor.is_cooperative() { 3 } else { 1 };
        let within = FOLLOWING + REBALANCES * rebalances + ms(10);
        let took = until(&mut world, within, |_, holders| is_even(holders));
        assert!(took >= FOLLOWING, "{assignor}: all that is reached again counts, {took:?}");
        world.rests(ms(20_000));
    }
}

/// What a member publishes may arrive where it hears nothing: it would take partitions that it has
/// to give up again.
#[test]
fn one_whose_messages_arrive_all_the_time_waits_until_it_hears_something() {
    let (mut world, _) = settled(story(&[]));
    world.cut_off(ms(LONG_MS));
    let publishing = |world: &mut World| {
        world.run(world.now + ms(50));
        let now = world.now;
        (0..6).for_each(|partition| world.first().handle_delivered(now, PartitionId(partition)));
    };
    let began = world.now;
    while !starves(&world.holders(), 6) {
        publishing(&mut world);
        assert!(world.now < began + SILENCE + REBALANCES + ms(50), "{}", world.log.join("\n"));
    }
    let generation = world.latest();
    while world.now < began + ms(30_000) {
        publishing(&mut world);
    }
    assert_eq!(world.latest(), generation, "{}", world.log.join("\n"));
    world.wires.deaf.clear();
    let now = world.now;
    world.first().handle_heard(now, PartitionId(0));
    let took = until(&mut world, FOLLOWING + REBALANCES + ms(10), |_, holders| is_even(holders));
    assert!(took >= FOLLOWING, "{took:?}");
    world.rests(ms(20_000));
}

/// It reaches first a partition that another member gets, and then the one that it would get.
#[test]
fn it_comes_back_ever_less_often_while_it_gets_nothing() {
    let mut world = World::new(Story { members: 2, width: 2, ..story(&[]) });
    world.run(world.now + ms(1_490));
    let of = |place| *world.holders().iter().find(|(_, at)| **at == place).unwrap().0;
    let (mine, other) = (of(0), of(1));
    world.cut_off(ms(LONG_MS));
    world.run(world.now + ms(900));
    world.rebalance();
    until(&mut world, ms(540), |world, holders| starves(holders, 2) && world.is_whole());
    for (partition, wait) in [(other, Duration::ZERO), (mine, SESSION)] {
        let generation = world.latest();
        let began = world.now;
        world.wires.deaf.remove(&(0, partition));
        let within = wait.max(FOLLOWING) + REBALANCES + ms(10);
        until(&mut world, within, |world, holders| {
            world.latest() > generation && holders.len() == 2
        });
        let took = world.now.since(began);
        assert!(took + REBALANCES >= wait, "after {took:?}:\n{}", world.log.join("\n"));
        assert_eq!(world.holders()[&mine] == 0, partition == mine);
    }
}

impl World {
    fn is_whole(&self) -> bool {
        self.places.iter().all(|it| it.core.as_ref().is_some_and(GroupMember::is_stable))
    }
}
