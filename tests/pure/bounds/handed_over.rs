//! A role that moves between two living members: for how long both lead it.

use std::time::Duration;

use support::world::{Luck, World};
use tandem::ids::PartitionId;
use tandem::time::Mono;
use tandem::topology::{Terms, bounds};

use super::{EXACT, MS, terms};

/// Members that hand over, and publish each 100 ms.
pub(super) fn handing_over() -> Terms {
    Terms { statement: Some(120 * MS), ..terms() }
}

/// The longest time for which two members led one partition, where a member joins two others, and
/// roles move to it.
fn joined(terms: Terms, loses_announcements: bool) -> Duration {
    let world = World::new(terms, Luck::Worst, 2, 4, 100 * MS);
    overlap_of_a_join(world, 1000 * MS, loses_announcements)
}

/// The same in this world, after so long.
pub(super) fn overlap_of_a_join(
    mut world: World,
    after: Duration,
    loses_announcements: bool,
) -> Duration {
    world.run(Mono::ZERO + after);
    world.loses_announcements = loses_announcements;
    world.enter();
    world.run(Mono::ZERO + after + 8000 * MS);
    let twice = world.acquired.iter().filter(|(at, ..)| *at > Mono::ZERO + after);
    let until = |(at, who, on): &(Mono, usize, PartitionId)| {
        let other =
            |(end, by, of): &&(Mono, usize, PartitionId)| of == on && by != who && end >= at;
        world.ended.iter().filter(other).map(|(end, ..)| end.since(*at)).max().unwrap()
    };
    twice.map(until).max().expect("roles move to the new member")
}

/// The new owner says so at once; where that is lost, the next beacon says it, `tau` later.
#[test]
fn a_role_that_moves_is_led_twice_until_its_new_owner_says_so() {
    let (heard, lost) = (joined(handing_over(), false), joined(handing_over(), true));
    let latency = terms().first - 10 * MS;
    assert_eq!(heard, latency, "one latency");
    let high = bounds(&handing_over(), None).restart.overlap.high.get();
    assert!(lost <= high && lost > 100 * MS, "{lost:?}, bound {high:?}");
    let without = Terms { statement: Some(latency), ..terms() };
    let high = bounds(&without, None).restart.overlap.high.get();
    assert!(lost > high + EXACT, "without tau the bound is {high:?}");
    let silent = joined(terms(), false);
    let high = bounds(&terms(), None).restart.overlap.high.get();
    assert!(silent > 2 * lost && silent <= high, "without hand-over {silent:?} of {high:?}");
}
