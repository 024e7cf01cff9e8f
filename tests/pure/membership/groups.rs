//! Whole groups under random faults: a generation gives no partition to two members, and once the
//! faults cease, the group settles within a bound and stays settled.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use proptest::prelude::*;
use support::cases::cases;
use tandem::neli::membership::Assignor;
use tandem::time::Mono;

use super::faults::Fault;
use super::world::{REBALANCE, SESSION, Story, World, ms};

/// No fault lasts longer than this.
pub(super) const LONGEST_MS: u64 = 2_500;

pub(super) fn fault() -> impl Strategy<Value = Fault> {
    let place = || 0_usize..4;
    let lasts = || 1..LONGEST_MS;
    let back = || prop_oneof![4 => (0_u64..1_500).prop_map(Some), 1 => Just(None)];
    prop_oneof![
        3 => (place(), back(), any::<bool>()).prop_map(|(place, back_after_ms, left_for)| {
            Fault::Kill { place, back_after_ms, left_for }
        }),
        2 => (place(), back())
            .prop_map(|(place, back_after_ms)| Fault::Leave { place, back_after_ms }),
        3 => (place(), lasts()).prop_map(|(place, ms)| Fault::Stall { place, ms }),
        3 => (place(), lasts()).prop_map(|(place, ms)| Fault::Reset { place, ms }),
        2 => (place(), lasts()).prop_map(|(place, ms)| Fault::HoldJoin { place, ms }),
        2 => (place(), 1_u64..330).prop_map(|(place, ms)| Fault::HoldAnswer { place, ms }),
        2 => (place(), 1_u32..4).prop_map(|(place, times)| Fault::LoseAnswers { place, times }),
        2 => (lasts(), prop::bool::weighted(0.3))
            .prop_map(|(ms, forgets)| Fault::Coordinator { ms, forgets }),
    ]
}

fn story() -> impl Strategy<Value = Story> {
    let assignor = prop_oneof![
        Just(Assignor::Range),
        Just(Assignor::RoundRobin),
        Just(Assignor::Sticky),
        Just(Assignor::CooperativeSticky),
    ];
    let faults = prop::collection::vec((0_u64..2_000, fault()), 0..8);
    let delay = prop_oneof![2 => Just(0_u64), 1 => Just(300)];
    let kind =
        prop_oneof![2 => Just((true, false)), 3 => Just((false, false)), 3 => Just((false, true))];
    (any::<u64>(), 2_usize..=4, 1_u32..=8, assignor, kind, delay, faults).prop_map(
        |(seed, members, width, assignor, (is_static, renews_id), initial_delay_ms, faults)| {
            Story {
                seed,
                members,
                width,
                assignor,
                is_static,
                renews_id,
                silence: None,
                proves: None,
                initial_delay_ms,
                faults,
            }
        },
    )
}

/// The least time after which the group is settled for good; panics where it never is.
fn settles(world: &mut World) -> Duration {
    let calm = calms(world);
    let mut settled = None;
    let end = calm + REBALANCE + SESSION * 5;
    while world.now < end {
        world.run(world.now + ms(20));
        let generations = world.generations();
        if world.unsettled().is_some() {
            settled = None;
        } else if settled.as_ref().is_none_or(|(_, was)| *was != generations) {
            settled = Some((world.now, generations));
        }
    }
    let why = world.unsettled();
    let Some((at, _)) = settled else { panic!("never settled: {why:?}") };
    at.since(calm)
}

/// The instant at which the effects of all faults are over; the world is there.
pub(super) fn calms(world: &mut World) -> Mono {
    while world.has_faults() {
        world.run(world.now + ms(20));
    }
    world.calm();
    let calm = world.calm_from();
    world.run(calm);
    calm
}

/// How long a group may take once the effects of all faults are over. Dead and pending members are
/// expired after a session, one after the other where a dead one leads. A static member whose
/// predecessor had not synced lets the coordinator wait for that one in vain, for as long as it
/// waits for anyone. Nor does a member know that a Join under its new id reached only a coordinator
/// that was deposed, which never answers: after several failures it waits for a whole rebalance,
/// begins anew, and joins within what any other member takes.
pub(super) fn bound(story: &Story) -> Duration {
    let hold = story.proves.map_or(Duration::ZERO, |it| it.hold);
    let has_deposed = || story.faults.iter().any(|(_, it)| matches!(it, Fault::Deposed { .. }));
    if story.is_static {
        REBALANCE + ms(500)
    } else if has_deposed() {
        REBALANCE + SESSION + hold * 3
    } else {
        SESSION * 2 + hold * 3
    }
}

/// Plays a story to its end, and prints what happened where that is a bad one.
pub(super) fn play(story: &Story) -> World {
    let mut world = World::new(story.clone());
    let took = catch_unwind(AssertUnwindSafe(|| {
        let took = settles(&mut world);
        for (at, place) in world.places.iter().enumerate() {
            assert_eq!(place.failed, None, "m{at} gave up");
        }
        assert!(took <= bound(story), "settled {took:?} after the last fault");
    }));
    if let Err(panic) = took {
        eprintln!("{story:#?}\n{}", world.log.join("\n"));
        resume_unwind(panic)
    }
    world
}

pub(super) fn scene(renews_id: bool, faults: &[(u64, Fault)]) -> Story {
    Story {
        seed: 1,
        members: 3,
        width: 6,
        assignor: Assignor::RoundRobin,
        is_static: false,
        renews_id,
        silence: None,
        proves: None,
        initial_delay_ms: 0,
        faults: faults.to_vec(),
    }
}

/// The network holds a Join until the member is cut off and the group rebalances once more. It
/// counts there, and the group does not wait for the member, which holds on for a session.
#[test]
fn a_join_that_comes_in_a_later_rebalance_gives_nothing_away_where_members_renew_their_ids() {
    let faults = [
        (1_000, Fault::HoldJoin { place: 2, ms: 2_600 }),
        (0, Fault::Leave { place: 1, back_after_ms: Some(50) }),
        (2_300, Fault::Reset { place: 2, ms: 1_500 }),
        (10, Fault::Leave { place: 1, back_after_ms: None }),
    ];
    assert!(play(&scene(false, &faults)).was_doubled, "the scene shows what it is for");
    assert!(!play(&scene(true, &faults)).was_doubled);
}

/// A session counts from before a heartbeat is sent: its answer may come late.
#[test]
fn a_late_answer_does_not_make_a_session_longer() {
    for begin in (1_000..1_100).step_by(10) {
        let faults = [
            (begin, Fault::HoldAnswer { place: 0, ms: 320 }),
            (110, Fault::Stall { place: 0, ms: 2_000 }),
        ];
        assert!(!play(&scene(true, &faults)).was_doubled);
    }
}

proptest! {
    #![proptest_config(cases(0x5EED_0014, 300))]

    #[test]
    fn a_group_gives_nothing_twice_and_settles_in_time(story in story()) {
        play(&story);
    }
}
