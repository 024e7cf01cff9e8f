//! Whole groups of the newer protocol under random faults: no partition ever has two exclusive
//! leaders, and once the faults cease, each one has a leader within a bound, for good. Each mistake
//! that is planted is found.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use proptest::prelude::*;
use support::cases::cases;

use super::faults::Fault;
use super::world::{SESSION, Story, World, ms};

fn fault() -> impl Strategy<Value = Fault> {
    let place = || 0_usize..3;
    let lasts = || 1_u64..2_500;
    prop_oneof![
        3 => (place(), any::<bool>())
            .prop_map(|(place, left_for)| Fault::Kill { place, left_for }),
        2 => place().prop_map(|place| Fault::Leave { place }),
        2 => (place(), lasts()).prop_map(|(place, ms)| Fault::Stop { place, ms }),
        2 => (place(), lasts()).prop_map(|(place, ms)| Fault::Deaf { place, ms }),
        2 => (place(), lasts()).prop_map(|(place, ms)| Fault::Dumb { place, ms }),
        3 => (place(), 1_u64..600, 1_u64..3_000)
            .prop_map(|(place, ms, by)| Fault::Hold { place, ms, by }),
        2 => (place(), lasts()).prop_map(|(place, ms)| Fault::Deposed { place, ms }),
    ]
}

fn story() -> impl Strategy<Value = Story> {
    let faults = prop::collection::vec((0_u64..1_500, fault()), 0..7);
    let hold = prop_oneof![Just(Duration::ZERO), Just(ms(150))];
    (any::<u64>(), 2_usize..=3, any::<bool>(), hold, faults).prop_map(
        |(seed, members, exclusive, hold, faults)| {
            let hold = if exclusive { hold } else { Duration::ZERO };
            Story { seed, members, exclusive, hold, faults, ..scene(&[]) }
        },
    )
}

pub(super) fn scene(faults: &[(u64, Fault)]) -> Story {
    Story {
        seed: 1,
        members: 3,
        exclusive: true,
        hold: Duration::ZERO,
        keeps_id: false,
        breaks_promises: false,
        trusts_session: false,
        silence: None,
        rebalance: ms(3_000),
        faults: faults.to_vec(),
    }
}

/// Plays a story to the end of its faults, and on until the group is settled for good.
fn play(story: &Story, settles: bool) -> World {
    let mut world = World::new(story.clone());
    let took = catch_unwind(AssertUnwindSafe(|| {
        let last = world.now + ms(story.faults.iter().map(|(after, _)| after).sum::<u64>() + 1_500);
        world.run(last);
        let calm = world.calm;
        world.run(calm);
        let bound = world.now + SESSION * 3;
        let end = bound + SESSION * 2;
        let mut unsettled = None;
        while world.now < end {
            world.run(world.now + ms(10));
            if let Some(why) = world.unsettled() {
                unsettled = Some((world.now, why));
            }
        }
        if let Some((at, why)) = unsettled.filter(|(at, _)| settles && *at > bound) {
            panic!("not settled at {at:?}: {why}");
        }
    }));
    if let Err(panic) = took {
        eprintln!("{story:#?}\n{}", world.log.join("\n"));
        resume_unwind(panic)
    }
    world
}

/// The first heartbeat of a life is held. It arrives as another member has joined and this one is
/// stopped: it names nothing, so the coordinator takes away at once what the member holds.
fn late() -> Vec<(u64, Fault)> {
    vec![
        (1_500, Fault::Kill { place: 0, left_for: true }),
        (290, Fault::Hold { place: 0, ms: 300, by: 2_700 }),
        (510, Fault::Leave { place: 1 }),
        (1_950, Fault::Stop { place: 0, ms: 700 }),
    ]
}

/// Whether two led in any of many worlds of this kind.
fn two_lead(story: &Story) -> bool {
    (0..40).any(|seed| {
        let mut faults = story.faults.clone();
        if let Some((after, _)) = faults.last_mut() {
            *after += seed * 11;
        }
        play(&Story { seed, faults, ..story.clone() }, false).doubled > 0
    })
}

#[test]
fn a_member_that_keeps_its_id_is_misread_when_its_requests_come_late() {
    let story = Story { members: 2, ..scene(&late()) };
    assert!(!two_lead(&story));
    assert!(two_lead(&Story { keeps_id: true, ..story }), "the plant is found");
}

#[test]
fn a_confirmation_within_a_promise_gives_two_leaders() {
    let joins = [(1_500, Fault::Kill { place: 1, left_for: true })];
    let story = Story { hold: ms(300), ..scene(&joins) };
    assert!(!two_lead(&story));
    assert!(two_lead(&Story { breaks_promises: true, ..story.clone() }), "the plant is found");
    // Nor may the coordinator wait for less than a promise lasts.
    assert!(two_lead(&Story { rebalance: ms(100), ..story }), "the plant is found");
}

/// A member hears of it with its next question, a quarter of the threshold later. It is cut off
/// just after that, while its claims would last for most of the threshold still.
#[test]
fn a_lowered_session_ends_the_proof_in_time() {
    let cut = Fault::Deaf { place: 0, ms: 2_000 };
    let story = scene(&[(1_500, Fault::Lower { session: 300 }), (230, cut)]);
    assert!(!two_lead(&story));
    assert!(two_lead(&Story { trusts_session: true, ..story }), "the plant is found");
}

/// Member 1 is stopped for less than a session, and loses what it held while a heartbeat of its own
/// is under way: the answer says that nothing has changed.
#[test]
fn a_member_that_gave_up_what_it_still_holds_asks_for_it() {
    let faults = [
        (1_058, Fault::Deposed { place: 2, ms: 972 }),
        (1_407, Fault::Dumb { place: 2, ms: 1 }),
        (838, Fault::Stop { place: 2, ms: 1_203 }),
        (297, Fault::Stop { place: 1, ms: 907 }),
        (910, Fault::Deaf { place: 2, ms: 1 }),
    ];
    let world = Story { seed: 12_434_081_168_862_916_107, ..scene(&faults) };
    play(&Story { exclusive: false, ..world }, true);
}

/// The first heartbeat of a life arrives after the second, and as another partition is free: its
/// answer, which the member has given up, is the only one that names it.
#[test]
fn a_member_that_gave_up_a_heartbeat_asks_for_all_from_then_on() {
    let faults = [
        (761, Fault::Hold { place: 2, ms: 451, by: 404 }),
        (51, Fault::Kill { place: 2, left_for: false }),
    ];
    play(&Story { seed: 0, exclusive: false, ..scene(&faults) }, true);
}

proptest! {
    #![proptest_config(cases(0x5EED_0003, 120))]

    #[test]
    fn no_two_lead_and_all_is_led_in_the_end(story in story()) {
        assert_eq!(play(&story, true).doubled, 0, "{story:#?}");
    }
}
