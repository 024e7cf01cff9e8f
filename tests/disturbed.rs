//! Disturbed trials, as facts say: what counts as a disturbance, that the outcome has no say in it,
//! and when the verdict is no pass; against naive twins.

#![allow(
    clippy::float_cmp,
    clippy::as_conversions,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test may fail loudly"
)]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use support::facts::{Story, at, brief, life, plan};
use tandem::chaos::{Choice, load};
use tandem::ids::TrialNumber;
use tandem::observation::{Fact, What};
use tandem::statistics::fisher;
use tandem::time::Span;
use tandem::timeline::{Hindrances, Interval, Lateness, Processors};
use tandem::topology::Plan;
use tandem::verdict::{
    Brief, Disturbed, JunitRun, JunitSuite, Report, Verdict, exit_code, junit, render,
};

const STALL: Duration = Duration::from_millis(50);
/// A trial lasts two seconds, and the next begins a second later.
const TRIAL: u64 = 3_000;

fn rule(replace: u32) -> Option<Disturbed> {
    Some(Disturbed { stall: Span(STALL), replace })
}

fn one_group() -> Plan {
    plan(1, &[("p1", 1, 2)])
}

/// So many trials are asked for, in which no gap may be longer than 200 ms.
fn asked(trials: u32, replace: u32) -> Brief {
    let plan = one_group();
    Brief { disturbed: rule(replace), ..brief(&plan, trials, &["group.gap.max <= 200ms"]) }
}

fn ns(ms: u64) -> u64 {
    ms * 1_000_000
}

/// Trials in which one member leads all the time, but for half a second in those that fail.
fn trials(count: u32, failing: &[u32], windows: impl Fn(u32) -> bool) -> Story {
    let mut story = Story::default();
    story.started("p1-1.1", 10).started("p1-2.1", 10);
    let mut from = 100;
    for number in 1..=count {
        let base = u64::from(number) * TRIAL;
        if failing.contains(&number) {
            let term = number;
            story.serves("p1-1.1", 0, term, [from, base + 1_000]);
            story.lapsed("p1-1.1", base + 1_000, (0, term), base + 1_000);
            from = base + 1_500;
        }
    }
    let end = u64::from(count + 1) * TRIAL;
    story.serves("p1-1.1", 0, count + 1, [from, end]);
    for number in (1..=count).filter(|number| windows(*number)) {
        let base = u64::from(number) * TRIAL;
        story.began(base, number).ended(base + 2_000, number);
    }
    story
}

/// The controller looks at the processors at these instants, and others had so much of what was
/// used, in percent.
fn look(story: &mut Story, [from, until]: [u64; 2], outside: u64) {
    let busy_ns = ns(until - from);
    let own_ns = busy_ns * (100 - outside) / 100;
    let (from, until) = (at(from), at(until));
    story.run(until.0 / 1_000_000, What::Processors { from, until, busy_ns, own_ns, stolen_ns: 0 });
}

/// The canary runs late by so many ms from half a second into the trial on, waiting all the time.
fn stalled(story: &mut Story, trial: u32, late: u64, outside: u64) {
    let from = u64::from(trial) * TRIAL + 500;
    let (waited_ns, until) = (Some(ns(late)), from + late);
    story.run(until, What::Stall { from: at(from), until: at(until), waited_ns });
    look(story, [from - 50, until], outside);
}

fn judged(brief: &Brief, mut story: Story, count: u32) -> Report {
    story.completed(u64::from(count + 1) * TRIAL);
    Report::compute(&one_group(), brief, 42, at(10), &story.facts)
}

fn numbers(report: &Report) -> Vec<(u32, Verdict)> {
    let disturbed = report.disturbed.as_ref().unwrap();
    disturbed.trials.iter().map(|one| (one.trial.0, one.outcome)).collect()
}

#[test]
fn a_passing_trial_and_a_failing_one_are_disturbed_alike_and_both_are_shown() {
    let mut story = trials(10, &[5], |_| true);
    for trial in [2, 5] {
        stalled(&mut story, trial, 100, 100);
    }
    let report = judged(&asked(8, 4), story, 10);
    assert_eq!(numbers(&report), [(2, Verdict::Pass), (5, Verdict::Fail)]);
    let of = report.disturbed.as_ref().unwrap();
    assert_eq!((of.replaced, of.failed, of.undisturbed, of.undisturbed_failed), (2, 1, 8, 0));
    assert_eq!((report.verdict, of.verdict_all), (Verdict::Pass, Verdict::Fail));
    assert_eq!(
        (report.trials, report.groups.values().next().unwrap().other.none.gap.count),
        (8, 0)
    );
    assert_eq!((of.trials[1].stalled_ms, of.trials[1].whom.as_ref()), (100.0, None));
    assert!(of.trials[1].reasons[0].contains("broke group.gap.max <= 200ms"), "{of:?}");
    assert_eq!(of.p_value, Some(0.2), "one of two, and none of eight");
    assert_eq!(exit_code(&report), 0);
    let text = render(&report, "out", false);
    assert!(text.contains("2 of 10 trials, held up by the host for more than 50 ms; 2 replaced"));
    assert!(text.contains("trial 2: pass (100 ms, the controller)"), "{text}");
    assert!(text.contains("trial 5: fail (100 ms, the controller)"), "{text}");
    assert!(text.contains("over all 10 trials: fail"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let run = JunitRun {
        report: &report,
        run: "one",
        began: tandem::time::Wall(0),
        lasted: Duration::from_secs(1),
        trouble: None,
    };
    let xml = junit("one", &[JunitSuite::Judged(run)]).unwrap();
    for property in [
        r#"name="disturbed_trials" value="2""#,
        r#"name="disturbed_failed" value="1""#,
        r#"name="verdict_all" value="fail""#,
    ] {
        assert!(xml.contains(property), "{xml}");
    }
}

#[test]
fn without_the_rule_every_trial_counts() {
    let mut story = trials(10, &[5], |_| true);
    stalled(&mut story, 5, 100, 100);
    let report = judged(&Brief { disturbed: None, ..asked(10, 0) }, story, 10);
    assert_eq!((report.verdict, report.disturbed), (Verdict::Fail, None));
}

#[test]
fn only_what_others_did_to_a_thread_that_waited_disturbs() {
    /// What is told of trial 2.
    type Case = (&'static str, fn(&mut Story), bool);
    let base = 2 * TRIAL;
    assert_eq!(base, 6_000, "as the cases have it");
    let cases: [Case; 10] = [
        ("others took all", |story| stalled(story, 2, 51, 100), true),
        ("it lasted as long as it may", |story| stalled(story, 2, 50, 100), false),
        ("a storm of our own", |story| stalled(story, 2, 900, 0), false),
        ("others took a part that is not long", |story| stalled(story, 2, 100, 40), false),
        ("others took a part that is", |story| stalled(story, 2, 400, 40), true),
        (
            "a thread that hangs, or is stopped, waits for nothing",
            |story| {
                let waited_ns = Some(ns(3));
                story.run(7_000, What::Stall { from: at(6_100), until: at(7_000), waited_ns });
                look(story, [6_050, 7_000], 100);
            },
            false,
        ),
        (
            "a kernel that does not count says nothing",
            |story| {
                let waited_ns = None;
                story.run(7_000, What::Stall { from: at(6_100), until: at(7_000), waited_ns });
                look(story, [6_050, 7_000], 100);
            },
            false,
        ),
        (
            "the hypervisor took the processor",
            |story| {
                let (from, until) = (at(6_100), at(6_200));
                story.run(6_200, What::Stall { from, until, waited_ns: Some(0) });
                let (busy_ns, own_ns, stolen_ns) = (ns(100), 0, ns(80));
                story.run(6_201, What::Processors { from, until, busy_ns, own_ns, stolen_ns });
            },
            true,
        ),
        (
            "a member alone was held up",
            |story| {
                let (from, until) = (at(6_100), at(6_200));
                let late = What::Late { from, until, waited_ns: Some(ns(90)) };
                story.says("p1-2.1", 9_500, late);
                look(story, [6_000, 6_100], 10);
                look(story, [6_100, 6_200], 90);
            },
            true,
        ),
        (
            "what lies before the trial is no part of it",
            |story| {
                let (from, until, waited_ns) = (at(5_900), at(6_040), Some(ns(140)));
                story.run(6_040, What::Stall { from, until, waited_ns });
                look(story, [5_900, 6_040], 100);
            },
            false,
        ),
    ];
    for (what, tell, disturbs) in cases {
        let mut story = trials(4, &[], |_| true);
        tell(&mut story);
        let report = judged(&asked(4, 2), story, 4);
        let wanted: &[_] = if disturbs { &[(2, Verdict::Pass)] } else { &[] };
        assert_eq!(numbers(&report), wanted, "{what}: {:?}", report.disturbed);
    }
    let mut story = trials(4, &[], |_| true);
    let late = What::Late { from: at(6_100), until: at(6_200), waited_ns: Some(ns(90)) };
    story.says("p1-2.1", 9_500, late);
    look(&mut story, [6_100, 6_200], 90);
    let of = judged(&asked(4, 2), story, 4).disturbed.unwrap();
    assert_eq!(of.trials[0].whom, Some(life("p1-2.1")), "it is said whose thread it was");
    assert_eq!((of.trials[0].stalled_ms, of.trials[0].late_ms), (81.0, 100.0));
}

#[test]
fn the_verdict_is_no_pass_where_more_than_a_third_are_disturbed() {
    let some = |count: u32, disturbed: u32| {
        let mut story = trials(count, &[], |_| true);
        (1..=disturbed).for_each(|trial| stalled(&mut story, trial, 100, 100));
        judged(&asked(count - disturbed, 9), story, count)
    };
    assert_eq!(some(6, 2).verdict, Verdict::Pass, "a third");
    let more = some(5, 2);
    assert_eq!((more.verdict, exit_code(&more)), (Verdict::Unknown, 4));
    let third = "2 of 5 trials were disturbed by the host: more than a third.";
    assert_eq!(more.reasons, [third]);
    assert_eq!(more.disturbed.unwrap().verdict_all, Verdict::Pass, "and it stands beside");
}

#[test]
fn the_verdict_is_no_pass_where_the_disturbed_fail_more_often_than_by_chance() {
    let report = |failing: &[u32]| {
        let mut story = trials(10, failing, |_| true);
        [3, 7].into_iter().for_each(|trial| stalled(&mut story, trial, 100, 100));
        judged(&asked(8, 4), story, 10)
    };
    let both = report(&[3, 7]);
    let why = "2 of 2 disturbed trials failed, and 0 of 8 others: chance does not explain that \
               (p 0.022).";
    assert_eq!((both.verdict, both.reasons), (Verdict::Unknown, vec![why.to_owned()]));
    assert_eq!(report(&[3]).verdict, Verdict::Pass, "one of two may be chance");
    let others = report(&[3, 5, 7]);
    assert_eq!(others.verdict, Verdict::Fail, "fail beats unknown: trial 5 has no excuse");
}

#[test]
fn too_few_undisturbed_trials_are_no_pass() {
    let mut story = trials(4, &[], |_| true);
    stalled(&mut story, 1, 100, 100);
    let report = judged(&asked(4, 0), story, 4);
    assert_eq!(report.verdict, Verdict::Unknown);
    assert_eq!(report.reasons, ["3 of 4 undisturbed trials were played to their end."]);
}

#[test]
fn half_as_many_trials_are_replaced_unless_the_experiment_says_how_many() {
    let read = |trials: &str, disturbed: &str, choice: &Choice| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.yaml");
        let text = format!(
            "version: 1\nname: x\ntrials: {trials}\ndisturbed: {disturbed}\n\
             method: [{{fault: noop, for: 1s}}]\n"
        );
        std::fs::write(&file, text).unwrap();
        load(&file, choice).unwrap().brief.disturbed.unwrap()
    };
    let topology = Some(Path::new("topologies/duo.yaml").to_owned());
    let choice = Choice { topology, ..Choice::default() };
    let of = |trials, disturbed| read(trials, disturbed, &choice).replace;
    assert_eq!((of("8", "{stall: 50ms}"), of("7", "{stall: 50ms}")), (4, 4));
    assert_eq!(
        (of("8", "{stall: 50ms, replace: 0}"), of("8", "{stall: 50ms, replace: 9}")),
        (0, 9)
    );
    let until = "{min: 3, max: 40, until: {gap_probability: \"< 30%\"}}";
    assert_eq!(of(until, "{stall: 50ms}"), 20, "of as many as there may be");
    let fewer = Choice { trials: Some(2), ..choice.clone() };
    assert_eq!(read("8", "{stall: 50ms}", &fewer).replace, 1, "of those that are asked for");
    let rule = read("8", "{stall: 50ms}", &choice);
    assert_eq!([0, 3, 4, 9].map(|disturbed| rule.replacements(disturbed)), [0, 3, 4, 4]);
}

/// The share of a wait, millisecond by millisecond.
fn naive_imposed(late: &Lateness, looks: &[Processors]) -> f64 {
    let (from, until) = (late.span.from.0 / ns(1), late.span.until.0 / ns(1));
    let length = (until - from) as f64;
    let waited = (late.waited.unwrap_or_default().as_secs_f64() * 1e3).min(length);
    let (mut imposed, mut stolen) = (0.0, 0.0);
    for look in looks {
        let covers = |ms: &u64| look.span.contains(at(*ms));
        let met = (from..until).filter(covers).count() as f64;
        if !look.busy.is_zero() && look.busy > look.own {
            let share = (look.busy - look.own).as_secs_f64() / look.busy.as_secs_f64();
            imposed += met * waited / length * share;
        }
        stolen += met.min(look.stolen.as_secs_f64() * 1e3);
    }
    imposed + stolen.min(length - waited)
}

/// Looks that follow each other, some of which were not worth a line.
fn looks() -> impl Strategy<Value = Vec<Processors>> {
    let one = (50u64..150, 0u64..300, 0u64..300, prop_oneof![3 => Just(0u64), 1 => 0u64..100]);
    prop::collection::vec((one, any::<bool>()), 0..12).prop_map(|all| {
        let mut from = 0;
        let mut looks = Vec::new();
        for ((length, busy, own, stolen), told) in all {
            let span = Interval::new(at(from), at(from + length));
            from += length;
            let ms = Duration::from_millis;
            let look = Processors { span, busy: ms(busy), own: ms(own), stolen: ms(stolen) };
            looks.extend(told.then_some(look));
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
    #[test]
    fn what_the_host_imposed_is_what_a_count_of_milliseconds_finds(
        from in 0u64..900,
        length in 1u64..400,
        waited in prop::option::of(0u64..400),
        looks in looks(),
    ) {
        let span = Interval::new(at(from), at(from + length));
        let late = Lateness { whom: None, span, waited: waited.map(Duration::from_millis) };
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
            || of.p_value.is_some_and(|p| p <= 0.05);
        let least = if doubt { Verdict::Unknown } else { Verdict::Pass };
        prop_assert_eq!(report.verdict, rest.verdict.and(least));
        prop_assert_eq!((of.failed as usize, of.undisturbed_failed as usize),
            if disturbing.is_empty() { (0, 0) } else { (failed, all - failed) });
        let whole = if failing.is_empty() { Verdict::Pass } else { Verdict::Fail };
        prop_assert_eq!(of.verdict_all, whole);
    }

    /// A run that goes on knows what its report will say, whether it folds what it has heard or not.
    #[test]
    fn a_run_that_goes_on_decides_as_its_report_does(
        stalls in prop::collection::vec((1u32..5, 0u64..1_400, 26u64..120, 0u64..101), 0..12),
        noise in 0usize..6_000,
    ) {
        let mut story = trials(4, &[], |_| true);
        let mut told: Vec<(u64, What)> = Vec::new();
        for (trial, offset, late, outside) in stalls {
            let from = u64::from(trial) * TRIAL + offset;
            let (until, waited_ns) = (from + late, Some(ns(late)));
            told.push((until, What::Stall { from: at(from), until: at(until), waited_ns }));
            let (busy_ns, own_ns) = (ns(2 * late), ns(2 * late) * (100 - outside) / 100);
            let (from, until) = (at(from), at(until));
            told.push((late, What::Processors { from, until, busy_ns, own_ns, stolen_ns: 0 }));
        }
        // Looks of the canary never overlap.
        told.sort_by_key(|(_, what)| match what {
            What::Stall { from, .. } | What::Processors { from, .. } => from.0,
            _ => 0,
        });
        let mut end = at(0);
        let mut skip = false;
        told.retain(|(_, what)| match what {
            What::Stall { from, .. } => {
                skip = *from < end;
                !skip
            }
            What::Processors { until, .. } => {
                end = if skip { end } else { *until };
                !skip
            }
            _ => false,
        });
        for (_, what) in told {
            let (What::Stall { until, .. } | What::Processors { until, .. }) = &what else {
                continue;
            };
            story.run(until.0 / ns(1), what.clone());
        }
        // Much that is too short to disturb anything, at the end of the last trial.
        let (from, until, waited_ns) = (at(13_900), at(13_930), Some(0));
        for _ in 0..noise {
            story.says("p1-2.1", 13_990, What::Late { from, until, waited_ns });
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
