//! The timeline: its algebra against brute force, and a second, naive computation that must agree
//! on random histories.

use std::time::Duration;

use proptest::prelude::*;
use support::cases::cases;
use support::chance::{Draws, history};
use support::facts::{Story, at, fault, name, plan, plan_with_others};
use support::{naive, twin};
use tandem::ids::{GroupName, TrialNumber};
use tandem::observation::{MemberEvent, Outcome, RunEvent};
use tandem::time::Mono;
use tandem::timeline::{Cause, Count, Coverage, Findings, Interval, IntervalSet, Timeline};

const SPACE: u64 = 40;

fn spans() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((0..SPACE, 0..SPACE), 0..12)
}

fn set(spans: &[(u64, u64)]) -> IntervalSet {
    spans.iter().map(|&(from, until)| Interval::new(Mono(from), Mono(until))).collect()
}

fn inside(spans: &[(u64, u64)], at: u64) -> bool {
    spans.iter().any(|&(from, until)| from <= at && at < until)
}

/// Exactly the instants that `wanted` says, in the one form that a set of instants has.
fn is_exactly(set: &IntervalSet, wanted: impl Fn(u64) -> bool) {
    for at in 0..SPACE + 2 {
        assert_eq!(set.contains(Mono(at)), wanted(at), "{at} in {set:?}");
    }
    let all: Vec<_> = set.iter().collect();
    assert!(all.iter().all(|one| !one.is_empty()), "{set:?}");
    assert!(all.windows(2).all(|pair| pair[0].until < pair[1].from), "{set:?}");
    let count = u64::try_from((0..SPACE + 2).filter(|at| wanted(*at)).count()).unwrap();
    assert_eq!(set.total(), Duration::from_nanos(count));
}

proptest! {
    #![proptest_config(cases(0x5EED_0028, 256))]

    #[test]
    fn sets_of_instants_agree_with_brute_force(a in spans(), b in spans()) {
        let (x, y) = (set(&a), set(&b));
        is_exactly(&x, |at| inside(&a, at));
        is_exactly(&x.union(&y), |at| inside(&a, at) || inside(&b, at));
        is_exactly(&x.intersect(&y), |at| inside(&a, at) && inside(&b, at));
        is_exactly(&x.subtract(&y), |at| inside(&a, at) && !inside(&b, at));
        for &(from, until) in &b {
            let (first, last) = (from.min(until), from.max(until));
            let meets = (first..=last).any(|at| inside(&a, at) || (at > 0 && inside(&a, at - 1)));
            let meets_at_end = inside(&a, last);
            let touches = x.touches(Interval::new(Mono(first), Mono(last)));
            prop_assert_eq!(touches, meets || meets_at_end);
        }
    }

    #[test]
    fn counts_agree_with_brute_force(
        sets in prop::collection::vec((spans(), spans()), 0..5),
        window in (0..SPACE, 0..SPACE),
    ) {
        let mut coverage = Coverage::default();
        for (sure, possible) in &sets {
            coverage.add(&set(sure), &set(possible));
        }
        let one = |spans: &[(u64, u64)], at| i64::from(inside(spans, at));
        let count = |at: u64| Count {
            min: sets.iter().map(|(sure, _)| one(sure, at)).sum(),
            max: sets.iter().map(|(_, possible)| one(possible, at)).sum(),
        };
        let window = Interval::new(Mono(window.0), Mono(window.1));
        for at in 0..SPACE {
            prop_assert_eq!(coverage.at(Mono(at)), count(at));
        }
        let within = |at: u64| window.contains(Mono(at));
        is_exactly(&coverage.when(window, |c| c.max == 0), |at| within(at) && count(at).max == 0);
        is_exactly(&coverage.when(window, |c| c.min >= 2), |at| within(at) && count(at).min >= 2);
        let length = coverage.steps(window).map(|(step, _)| step.length()).sum::<Duration>();
        prop_assert_eq!(length, window.length());
    }

    #[test]
    fn a_naive_computation_agrees_on_random_histories(
        numbers in prop::collection::vec(0u32..1_000_000, 0..700),
    ) {
        let plan = plan(3, &[("p1", 2, 2), ("p2", 2, 2)]);
        let facts = history(&["p1", "p2"], &mut Draws::new(numbers));
        prop_assert_eq!(twin::gaps(&plan, &facts), naive::gaps(&plan, &facts));
    }

    #[test]
    fn what_others_may_hold_is_found_twice(
        numbers in prop::collection::vec(0u32..1_000_000, 0..700),
    ) {
        let plan = plan_with_others(3, &[("p1", 2, 2), ("p2", 2, 2)]);
        let facts = history(&["p1", "p2"], &mut Draws::new(numbers));
        prop_assert_eq!(twin::gaps(&plan, &facts), naive::gaps(&plan, &facts));
    }

    #[test]
    fn the_order_of_arrival_does_not_matter(
        numbers in prop::collection::vec(0u32..1_000_000, 0..400),
    ) {
        let plan = plan(2, &[("p1", 2, 2)]);
        let mut facts = history(&["p1"], &mut Draws::new(numbers));
        let there = Timeline::compute(&plan, &facts);
        facts.reverse();
        let back = Timeline::compute(&plan, &facts);
        for (name, group) in &there.groups {
            prop_assert_eq!(&group.findings, &back.groups[name].findings);
        }
        prop_assert_eq!(there.joint, back.joint);
    }
}

/// One group of one partition and two members, with all facts.
fn timeline_of(record: impl Fn(&mut Story)) -> Timeline {
    let mut story = Story::default();
    record(&mut story);
    Timeline::compute(&plan(1, &[("p1", 1, 2)]), &story.facts)
}

fn found(timeline: &Timeline) -> &Findings {
    &timeline.groups[&name::<GroupName>("p1")].findings
}

#[test]
fn a_second_process_claims_beside_the_first_and_its_start_is_the_fault() {
    let twice = timeline_of(|story| {
        story.started("p1-1.1", 10).serves("p1-1.1", 0, 1, [100, 9_000]).began(500, 1);
        story.asked("p1-1.2", 2_000, "1.d", "duplicate").started("p1-1.2", 2_005);
        story.serves("p1-1.2", 0, 1, [2_100, 4_000]);
        story.lapsed("p1-1.2", 4_000, (0, 1), 4_000).died("p1-1.2", 4_100);
        story.ended(8_900, 1).completed(8_950);
    });
    let overlaps = &found(&twice).overlaps;
    assert_eq!(overlaps.len(), 1, "{overlaps:?}");
    assert_eq!(overlaps[0].span, Interval::new(at(2_100), at(4_000)));
    assert_eq!(overlaps[0].cause, Cause::Fault(fault("1.d")), "and not its restart");
    assert!(found(&twice).gaps.is_empty(), "the first leads on");
}

#[test]
fn a_leave_by_a_fault_does_not_end_a_trial_that_is_cut_off() {
    let cut = |asked: bool| {
        timeline_of(|story| {
            story.started("p1-1.1", 10).started("p1-2.1", 10).began(500, 1);
            story.serves("p1-1.1", 0, 1, [100, 2_000]);
            if asked {
                story.asked("p1-1.1", 1_900, "1.l", "leave");
            }
            story.lapsed("p1-1.1", 2_000, (0, 1), 2_000).says(
                "p1-1.1",
                2_001,
                MemberEvent::Leaving,
            );
            story.serves("p1-2.1", 0, 1, [2_300, 6_000]);
        })
    };
    let window = |timeline: &Timeline| timeline.record.trials[0].window;
    assert!(window(&cut(true)).until > at(5_000), "{:?}", window(&cut(true)));
    assert_eq!(found(&cut(true)).gaps.len(), 1);
    assert_eq!(window(&cut(false)).until, at(2_001), "else all are sent home");
}

#[test]
fn unobserved_time_is_unknown_even_for_dead_members() {
    // The controller stands still from 2500 to 8000; at 5500 its guard ends all members.
    let left = |noted: bool| {
        timeline_of(|story| {
            story.started("p1-1.1", 10).started("p1-2.1", 10).began(500, 1);
            story.serves("p1-1.1", 0, 1, [100, 5_500]);
            story
                .run(8_000, RunEvent::Stall { from: at(2_500), until: at(8_000), waited_ns: None });
            story.died("p1-1.1", 8_001).died("p1-2.1", 8_002);
            if noted {
                story.run(8_100, RunEvent::Unattended { from: at(2_400) });
            }
            let (trial, recovered) = (TrialNumber(1), Some(false));
            story.run(8_200, RunEvent::TrialEnded { trial, recovered });
            story.run(8_300, RunEvent::Ended { how: Outcome::Broken, why: None });
        })
    };
    let noted = left(true);
    assert!(found(&noted).gaps.is_empty(), "{:?}", found(&noted).gaps);
    let spans: Vec<_> = found(&noted).unknown_gaps.iter().map(|one| one.span).collect();
    assert_eq!(spans, [Interval::new(at(2_400), at(8_200))]);
    assert_eq!(noted.record.trials[0].recovered, None, "it had no time to");
    let stalled = left(false);
    assert!(!found(&stalled).gaps.is_empty(), "a stall of the host alone excuses nothing");
    assert_eq!(stalled.record.trials[0].recovered, Some(false));
}
