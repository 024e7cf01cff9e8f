//! Disturbed trials, as facts say: what counts as a disturbance, that the outcome has no say in it,
//! and when the verdict is no pass; against naive twins.

#![allow(
    clippy::float_cmp,
    clippy::as_conversions,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    unreachable_pub,
    reason = "a test may fail loudly"
)]

mod story;
mod twins;

use std::path::Path;
use std::time::Duration;

use story::{TRIAL, asked, judged, look, ns, numbers, stalled, trials};
use support::facts::{Story, at, life};
use tandem::chaos::{Choice, load};
use tandem::observation::{MemberEvent, RunEvent};
use tandem::verdict::{Brief, Exit, JunitRun, JunitSuite, Verdict, junit, render};

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
    assert_eq!((of.trials[1].stalled_ms, of.trials[1].life.as_ref()), (100.0, None));
    let broke = |why: &String| why.contains("broke group.gap.max <= 200ms");
    assert!(of.trials[1].reasons.iter().any(broke), "{of:?}");
    assert!((of.p_value.unwrap() - 0.2).abs() < 1e-9, "one of two, and none of eight: {of:?}");
    assert_eq!(Exit::of(&report).code(), 0);
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

/// A member sleeps for two seconds, of each tenth of which the hypervisor takes a fifth.
fn stopped_while_a_little_is_stolen(story: &mut Story) {
    let (from, until) = (at(6_050), at(7_950));
    story.says("p1-2.1", 9_500, MemberEvent::Late { from, until, waited_ns: Some(ns(2)) });
    for from in (6_000..8_000).step_by(100) {
        let (busy_ns, own_ns, stolen_ns) = (ns(100), 0, ns(20));
        let (from, until) = (at(from), at(from + 100));
        let what = RunEvent::Processors { from, until, busy_ns, own_ns, stolen_ns };
        story.run(until.0 / ns(1) + 1, what);
    }
}

/// As a run measured it: the duty of one member ran 155 ms late, and did not wait for a processor.
fn booked_late(story: &mut Story) {
    let (from, until) = (at(6_068), at(6_223));
    story.says("p1-2.1", 9_500, MemberEvent::Late { from, until, waited_ns: Some(ns(1)) });
    for (from, until, stolen) in [(6_000, 6_102, 30), (6_102, 6_207, 10), (6_207, 6_309, 160)] {
        let (busy_ns, own_ns, stolen_ns) = (ns(200), ns(20), ns(stolen));
        let what =
            RunEvent::Processors { from: at(from), until: at(until), busy_ns, own_ns, stolen_ns };
        story.run(until + 1, what);
    }
}

/// The facts of trial 2, and whether they disturb it.
type Case = (&'static str, fn(&mut Story), bool);

/// Possible facts about the host, and their consequences.
fn cases() -> [Case; 12] {
    [
        ("others took all", |story| stalled(story, 2, 51, 100), true),
        ("it lasted as long as it may", |story| stalled(story, 2, 50, 100), false),
        ("a storm of our own", |story| stalled(story, 2, 900, 0), false),
        ("others took a part that is not long", |story| stalled(story, 2, 100, 40), false),
        ("others took a part that is", |story| stalled(story, 2, 400, 40), true),
        (
            "a thread that hangs, or is stopped, waits for nothing",
            |story| {
                let waited_ns = Some(ns(3));
                story.run(7_000, RunEvent::Stall { from: at(6_100), until: at(7_000), waited_ns });
                look(story, [6_050, 7_000], 100);
            },
            false,
        ),
        (
            "a kernel that does not count says nothing",
            |story| {
                let waited_ns = None;
                story.run(7_000, RunEvent::Stall { from: at(6_100), until: at(7_000), waited_ns });
                look(story, [6_050, 7_000], 100);
            },
            false,
        ),
        (
            "the hypervisor took the processor",
            |story| {
                let (from, until) = (at(6_100), at(6_200));
                story.run(6_200, RunEvent::Stall { from, until, waited_ns: Some(0) });
                let (busy_ns, own_ns, stolen_ns) = (ns(100), 0, ns(80));
                story.run(6_201, RunEvent::Processors { from, until, busy_ns, own_ns, stolen_ns });
            },
            true,
        ),
        (
            "a fault stopped a member, and the hypervisor took a little all the while",
            stopped_while_a_little_is_stolen,
            false,
        ),
        (
            "the hypervisor took one processor of two, and the kernel booked it when it was back",
            booked_late,
            true,
        ),
        (
            "a member alone was held up",
            |story| {
                let (from, until) = (at(6_100), at(6_200));
                let late = MemberEvent::Late { from, until, waited_ns: Some(ns(90)) };
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
                story.run(6_040, RunEvent::Stall { from, until, waited_ns });
                look(story, [5_900, 6_040], 100);
            },
            false,
        ),
    ]
}

#[test]
fn only_waiting_caused_by_other_processes_disturbs() {
    let base = 2 * TRIAL;
    assert_eq!(base, 6_000, "as the cases have it");
    for (what, record, disturbs) in cases() {
        let mut story = trials(4, &[], |_| true);
        record(&mut story);
        let report = judged(&asked(4, 2), story, 4);
        let wanted: &[_] = if disturbs { &[(2, Verdict::Pass)] } else { &[] };
        assert_eq!(numbers(&report), wanted, "{what}: {:?}", report.disturbed);
    }
}

#[test]
fn the_report_names_the_thread_that_was_held_up() {
    let mut story = trials(4, &[], |_| true);
    let late = MemberEvent::Late { from: at(6_100), until: at(6_200), waited_ns: Some(ns(90)) };
    story.says("p1-2.1", 9_500, late);
    look(&mut story, [6_100, 6_200], 90);
    let of = judged(&asked(4, 2), story, 4).disturbed.unwrap();
    assert_eq!(of.trials[0].life, Some(life("p1-2.1")));
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
    assert_eq!((more.verdict, Exit::of(&more).code()), (Verdict::Unknown, 4));
    let third = "2 of 5 trials were disturbed by the host: more than a third.";
    assert_eq!(more.reasons, [third]);
    assert_eq!(more.disturbed.unwrap().verdict_all, Verdict::Pass, "and it stands beside");
}

#[test]
fn where_all_trials_are_disturbed_that_is_the_first_reason() {
    let mut story = trials(3, &[], |_| true);
    (1..=3).for_each(|trial| stalled(&mut story, trial, 100, 100));
    let report = judged(&asked(3, 0), story, 3);
    assert_eq!(report.verdict, Verdict::Unknown);
    let all = "3 of 3 trials were disturbed by the host: more than a third.";
    assert_eq!(report.reasons[0], all, "{:?}", report.reasons);
    assert!(report.reasons[1].contains("no trial that counts was played to its end"));
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
