//! Groups in which the owners of a partition publish on it, and the others rarely: the bounds stay
//! what they are, and the load is what the plan says.

use std::time::Duration;

use support::world::{Luck, World};
use tandem::ids::PartitionId;
use tandem::neli::Publishers;
use tandem::time::Mono;
use tandem::topology::{Beacons, Load, Terms, bounds, plan};

use super::handed_over::{handing_over, overlap_of_a_join};
use super::{EXACT, MS, SOON, fall_in, terms};

/// Three rounds over what a member owns, to one over all.
const RARE: Duration = Duration::from_millis(330);

fn group(terms: Terms, members: usize, beacon: Duration) -> World {
    World::publishing(Publishers::Owners, terms, Luck::Worst, members, (3, beacon))
}

#[test]
fn a_kill_takes_exactly_its_bounds() {
    for luck in [Luck::Worst, Luck::Best] {
        let world = World::publishing(Publishers::Owners, terms(), luck, 3, (3, RARE));
        let gap = fall_in(world, terms(), luck).gap();
        let range = bounds(&terms(), None).kill.gap;
        let exact = if luck == Luck::Worst { range.high.get() } else { range.low.get() };
        assert!(gap <= exact + EXACT && gap + EXACT >= exact, "{luck:?}: {gap:?}, not {exact:?}");
    }
}

/// How old its last message was, at most, for a member that is cut off at any time.
fn oldest(publishers: Publishers, mute: bool) -> Duration {
    let age = |offset: u32| {
        let all = (3, SOON);
        let mut world = World::publishing(publishers, terms(), Luck::Worst, 3, all);
        world.run(Mono::ZERO + 1000 * MS);
        let (victim, partition) = (1, world.holds(1)[0]);
        world.mute = mute.then_some(victim);
        let cut = Mono::ZERO + 5000 * MS + offset * 99 * MS;
        world.run(cut);
        // Its last heartbeat, so that all else goes on.
        world.pause(victim);
        world.run(cut + terms().threshold);
        let of = |it: &&(Mono, usize, PartitionId)| it.1 == victim && it.2 == partition;
        let ended = world.ended.iter().filter(of).map(|it| it.0).max().expect("its claim lapses");
        terms().threshold.saturating_sub(ended.since(cut))
    };
    (0..11).map(age).max().unwrap()
}

/// What the owner hears of itself is as young as what it hears of all; without that, as old as the
/// rounds of the others make it.
#[test]
fn the_age_of_the_last_message_is_what_it_is_if_all_publish() {
    let owners = oldest(Publishers::Owners, false);
    assert!(owners <= terms().age && owners > 60 * MS, "{owners:?} of {:?}", terms().age);
    let others = oldest(Publishers::Owners, true);
    assert!(others > 2 * terms().age && others <= 1020 * MS, "a third of T at most: {others:?}");
}

/// A member whose beacons all get lost hears those of the others; one that is alone does not.
#[test]
fn the_others_renew_the_claim_of_an_owner_that_cannot_publish() {
    for (members, holds) in [(3, true), (1, false)] {
        let mut world = group(handing_over(), members, SOON);
        world.run(Mono::ZERO + 2000 * MS);
        let partition = world.holds(0)[0];
        world.mute = Some(0);
        world.run(Mono::ZERO + 9_000 * MS);
        assert_eq!(world.leads(0, partition), holds, "{members} members");
        assert_eq!(world.ended.iter().all(|it| it.1 != 0), holds, "{members} members");
    }
}

/// A group that was calm for long states what has changed with each beacon.
#[test]
fn a_lost_announcement_is_made_up_for_by_the_next_beacon() {
    let joined = |publishers, lost| {
        let new = World::publishing(publishers, handing_over(), Luck::Worst, 2, (4, SOON));
        overlap_of_a_join(new, 10_050 * MS, lost)
    };
    let high = bounds(&handing_over(), None).restart.overlap.high.get();
    let lost = joined(Publishers::Owners, true);
    assert_eq!(joined(Publishers::Owners, false), joined(Publishers::All, false));
    assert!(lost <= high && lost > 90 * MS, "{lost:?}, bound {high:?}");
    let without = Terms { statement: Some(terms().first - 10 * MS), ..terms() };
    let high = bounds(&without, None).restart.overlap.high.get();
    assert!(lost > high + EXACT, "without tau the bound is {high:?}");
}

/// How many beacons a second a calm group publishes, and how many are delivered to it.
fn counted(publishers: Publishers, members: usize) -> (f64, f64) {
    let all = (16, SOON);
    let mut world = World::publishing(publishers, handing_over(), Luck::Best, members, all);
    world.run(Mono::ZERO + 5_000 * MS);
    let before = (world.published, world.delivered);
    world.run(Mono::ZERO + 8_000 * MS);
    let a_second = |count: usize| f64::from(u32::try_from(count).unwrap()) / 3.0;
    (a_second(world.published - before.0), a_second(world.delivered - before.1))
}

#[test]
fn the_load_of_a_calm_group_is_what_the_plan_says() {
    for members in [2, 3, 5] {
        let text = format!(
            "version: 1\nname: x\nroles: {{count: 16, prefix: r-}}\nclusters: {{a: embedded}}\n\
             groups: {{p: {{cluster: a, members: {members}}}}}\n"
        );
        let plan = plan(&text, &[]).unwrap();
        let planned = &plan.groups["p"];
        for (publishers, beacons) in
            [(Publishers::All, Beacons::All), (Publishers::Owners, Beacons::Owners)]
        {
            let (published, delivered) = counted(publishers, members);
            let Load { messages, deliveries } = Load::of(&plan, planned, beacons);
            let is = |measured: f64, planned: f64| (measured - planned).abs() <= planned * 0.02;
            let shown = format!("{members} {beacons:?}: {published} and {delivered} a second");
            assert!(is(published, messages), "{shown}, planned {messages}");
            assert!(is(delivered, deliveries), "{shown}, planned {deliveries}");
        }
    }
}
