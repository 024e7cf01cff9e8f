//! The rule on disturbed trials against naive twins.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use tandem::ids::TrialNumber;
use tandem::observation::{Fact, MemberEvent, RunEvent};
use tandem::statistics::fisher;
use tandem::timeline::{Hindrances, Interval, Lateness, Processors};
use tandem::verdict::{Brief, Verdict};

use crate::disturbed::story::{STALL, TRIAL, asked, judged, ns, numbers, rule, stalled, trials};
use support::cases::cases;
use support::facts::at;

/// The share of a wait, millisecond by millisecond.
fn naive_imposed(late: &Lateness, looks: &[Processors]) -> f64 {
    let (from, until) = (late.span.from.0 / ns(1), late.span.until.0 / ns(1));
    let length = (until - from) as f64;
    let waited = (late.waited.unwrap_or_default().as_secs_f64() * 1e3).min(length);
    let (mut imposed, mut stolen) = (0.0, 0.0);
    let mut taken = Vec::new();
    for look in looks {
        let covers = |ms: &u64| look.span.contains(at(*ms));
        let met = (from..until).filter(covers).count() as f64;
        if !look.busy.is_zero() && look.busy > look.own {
            let share = (look.busy - look.own).as_secs_f64() / look.busy.as_secs_f64();
            imposed += met * waited / length * share;
        }
        // What was taken may have been taken before the look began.
        let back = look.stolen.as_secs_f64() * 1e3;
        let reaches = |ms: &u64| {
            let ms = *ms as f64;
            let [first, last] = [look.span.from, look.span.until].map(|at| (at.0 / ns(1)) as f64);
            first - back <= ms && ms < last
        };
        let reached = (from..until).filter(reaches).count() as f64;
        if reached > 0.0 && look.span.from < at(until + 10) && look.span.until > at(from) {
            let end = (look.span.until.0 / ns(1)).min(until);
            taken.push((reached.min(back), (end - from) as f64));
        }
    }
    let mut sum = 0.0;
    for (place, (here, so_far)) in taken.into_iter().enumerate() {
        sum += here;
        if place == 0 || sum * 2.0 >= so_far {
            stolen = sum;
        }
    }
    imposed + stolen.min(length - waited)
}

/// Looks that follow each other, some of which were not worth a line.
fn looks() -> impl Strategy<Value = Vec<Processors>> {
    let one = (50u64..150, 0u64..300, 0u64..300, prop_oneof![3 => Just(0u64), 1 => 0u64..100]);
    prop::collection::vec((one, any::<bool>()), 0..12).prop_map(|all| {
        let mut from = 0;
        let mut looks = Vec::new();
        for ((length, busy, own, stolen), reported) in all {
            let span = Interval::new(at(from), at(from + length));
            from += length;
            let ms = Duration::from_millis;
            let look = Processors { span, busy: ms(busy), own: ms(own), stolen: ms(stolen) };
            looks.extend(reported.then_some(look));
        }
        looks
    })
}

/// Of all ways to hand out the failures, in how many at least so many are among the disturbed.
fn naive_p(disturbed: u32, failed: u32, all: u32, failures: u32) -> f64 {
    let ways: Vec<u32> = (0u32..1 << all).filter(|way| way.count_ones() == failures).collect();
    let as_bad =
        ways.iter().filter(|way| (**way & ((1 << disturbed) - 1)).count_ones() >= failed).count();
    as_bad as f64 / ways.len() as f64
}

proptest! {
    #![proptest_config(cases(0x5EED_0006, 256))]

    #[test]
    fn the_imposed_wait_agrees_with_a_count_of_milliseconds(
        from in 0u64..900,
        length in 1u64..400,
        waited in prop::option::of(0u64..400),
        looks in looks(),
    ) {
        let span = Interval::new(at(from), at(from + length));
        let late = Lateness { life: None, span, waited: waited.map(Duration::from_millis) };
        let imposed = late.imposed(&looks);
        let naive = naive_imposed(&late, &looks);
        prop_assert!((imposed.as_secs_f64() * 1e3 - naive).abs() < 1e-3, "{imposed:?} {naive}");
        prop_assert!(imposed <= span.length(), "no more than it was late");
    }

    #[test]
    fn the_test_counts_the_ways_in_which_chance_could_have_it(
        all in 2u32..12, disturbed in 1u32..11, failed in 0u32..11, others in 0u32..11,
    ) {
        let disturbed = disturbed.min(all - 1);
        let (failed, others) = (failed.min(disturbed), others.min(all - disturbed));
        let p = fisher::more_often(
            failed.into(), disturbed.into(), others.into(), (all - disturbed).into(),
        );
        let naive = naive_p(disturbed, failed, all, failed + others);
        prop_assert!((p - naive).abs() < 1e-9, "{p} {naive}");
    }

    /// The report over the undisturbed is that of a run in which the others were no trials; and
    /// which are disturbed has nothing to do with which fail.
    #[test]
    fn disturbed_trials_are_judged_as_if_they_had_not_been_there(
        count in 2u32..8,
        failing in prop::collection::btree_set(1u32..8, 0..4),
        disturbing in prop::collection::btree_set(1u32..8, 0..4),
    ) {
        let within = |all: &BTreeSet<u32>| -> Vec<u32> {
            all.iter().copied().filter(|number| *number <= count).collect()
        };
        let (failing, disturbing) = (within(&failing), within(&disturbing));
        let brief = asked(count, 4);
        let mut story = trials(count, &failing, |_| true);
        disturbing.iter().for_each(|trial| stalled(&mut story, *trial, 100, 100));
        let mut live = Hindrances::default();
        story.facts.iter().for_each(|fact| live.observe(fact));
        let report = judged(&brief, story, count);
        let rest = trials(count, &failing, |number| !disturbing.contains(&number));
        let rest = judged(&Brief { disturbed: rule(4), ..brief.clone() }, rest, count);

        let found: Vec<u32> = numbers(&report).iter().map(|(trial, _)| *trial).collect();
        prop_assert_eq!(&found, &disturbing);
        for (trial, outcome) in numbers(&report) {
            let alone = if failing.contains(&trial) { Verdict::Fail } else { Verdict::Pass };
            prop_assert_eq!(outcome, alone, "trial {}", trial);
        }
        prop_assert_eq!(&report.objective, &rest.objective);
        prop_assert_eq!(&report.assertions, &rest.assertions);
        prop_assert_eq!(&report.confidence, &rest.confidence);
        prop_assert_eq!(&report.groups, &rest.groups);
        prop_assert_eq!(&report.joint, &rest.joint);
        prop_assert_eq!(report.trials, rest.trials);

        let of = report.disturbed.as_ref().unwrap();
        let bad = |trial: &&u32| failing.contains(trial);
        let (failed, all) = (disturbing.iter().filter(bad).count(), failing.len());
        let doubt = disturbing.len() * 3 > count as usize
            || of.p_value.is_some_and(|p| p <= 0.05 + 1e-9);
        let least = if doubt { Verdict::Unknown } else { Verdict::Pass };
        prop_assert_eq!(report.verdict, rest.verdict.and(least));
        prop_assert_eq!((of.failed as usize, of.undisturbed_failed as usize),
            if disturbing.is_empty() { (0, 0) } else { (failed, all - failed) });
        let whole = if failing.is_empty() { Verdict::Pass } else { Verdict::Fail };
        prop_assert_eq!(of.verdict_all, whole);
    }

    /// A run that goes on knows what its report will say, whether it folds what it heard or not.
    #[test]
    fn a_run_that_goes_on_decides_as_its_report_does(
        stalls in prop::collection::vec((1u32..5, 0u64..1_400, 26u64..120, 0u64..101), 0..12),
        noise in 0usize..6_000,
    ) {
        let mut story = trials(4, &[], |_| true);
        let mut facts: Vec<(u64, RunEvent)> = Vec::new();
        for (trial, offset, late, outside) in stalls {
            let from = u64::from(trial) * TRIAL + offset;
            let (until, waited_ns) = (from + late, Some(ns(late)));
            facts.push((until, RunEvent::Stall { from: at(from), until: at(until), waited_ns }));
            let (busy_ns, own_ns) = (ns(2 * late), ns(2 * late) * (100 - outside) / 100);
            let (from, until) = (at(from), at(until));
            let used = RunEvent::Processors { from, until, busy_ns, own_ns, stolen_ns: 0 };
            facts.push((late, used));
        }
        // Looks of the canary never overlap.
        facts.sort_by_key(|(_, event)| match event {
            RunEvent::Stall { from, .. } | RunEvent::Processors { from, .. } => from.0,
            _ => 0,
        });
        let mut end = at(0);
        let mut skip = false;
        facts.retain(|(_, event)| match event {
            RunEvent::Stall { from, .. } => {
                skip = *from < end;
                !skip
            }
            RunEvent::Processors { until, .. } => {
                end = if skip { end } else { *until };
                !skip
            }
            _ => false,
        });
        for (_, event) in facts {
            let (RunEvent::Stall { until, .. } | RunEvent::Processors { until, .. }) = &event else {
                continue;
            };
            story.run(until.0 / ns(1), event.clone());
        }
        // Much that is too short to disturb anything, at the end of the last trial.
        let (from, until, waited_ns) = (at(13_900), at(13_930), Some(0));
        for _ in 0..noise {
            story.says("p1-2.1", 13_990, MemberEvent::Late { from, until, waited_ns });
        }
        story.facts.sort_by_key(|fact: &Fact| (fact.t, fact.seq));
        let mut live = Hindrances::default();
        story.facts.iter().for_each(|fact| live.observe(fact));
        let decided: Vec<TrialNumber> = live.beyond(STALL).collect();
        let report = judged(&asked(4, 4), story, 4);
        let said: Vec<TrialNumber> =
            report.disturbed.unwrap().trials.iter().map(|one| one.trial).collect();
        prop_assert_eq!(decided, said);
    }
}
