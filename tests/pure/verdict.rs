//! The verdict: the three values, what each is for, and the page.

#![allow(clippy::float_cmp, reason = "a test may fail loudly")]

use support::facts::{Story, at, brief, failed, fault, name, plan};
use tandem::observation::{MemberEvent, Outcome, RunEvent, What};
use tandem::time::Span;
use tandem::topology::Plan;
use tandem::verdict::{CauseKind, Exit, Report, Verdict, render, render_within};

/// Two groups, two roles; p1-1 is killed at 2000 and p1-2 takes over after `gap` ms.
fn run(gap: u64, extra: impl Fn(&mut Story)) -> (Plan, Story) {
    let mut story = Story::default();
    for who in ["p1-1.1", "p1-2.1", "p2-1.1", "p2-2.1"] {
        story.started(who, 10);
    }
    story.settled("p1", 400).settled("p2", 400);
    story.serves("p1-1.1", 0, 1, [100, 1_990]).serves("p1-2.1", 0, 1, [2_000 + gap, 9_400]);
    story.serves("p2-1.1", 0, 1, [100, 9_400]);
    story.asked("p1-1.1", 2_000, "1.k", "kill").died("p1-1.1", 2_003);
    story.of("p1-1.1", 2_003, RunEvent::FaultInForce { fault: fault("1.k") });
    story.started("p1-1.2", 4_500);
    story.of("p1-1.2", 4_500, RunEvent::FaultHealed { fault: fault("1.k") }).settled("p1", 6_000);
    story.began(500, 1).ended(9_000, 1);
    extra(&mut story);
    (plan(2, &[("p1", 1, 2), ("p2", 1, 2)]), story)
}

fn judged(gap: u64, assertions: &[&str], extra: impl Fn(&mut Story)) -> Report {
    let (plan, story) = run(gap, extra);
    let mut brief = brief(&plan, 1, assertions);
    brief.objective.joint_gap = Some(Span::ms(0));
    Report::compute(&plan, &brief, 42, at(10), &story.facts)
}

fn complete(story: &mut Story) {
    story.completed(9_500);
}

/// p2, which serves beside p1, is not heard of from 3000 to 3200.
fn blind(story: &mut Story) {
    let (from, until) = (at(3_000), at(3_200));
    story.says("p2-1.1", 9_401, MemberEvent::Hole { from, until }).completed(9_500);
}

#[test]
fn a_claim_passes_fails_or_is_unknown() {
    use Verdict::{Fail, Pass, Unknown};
    for (text, seen, unseen) in [
        // Its victim may have served for 3 ms more, so it surely lasted 1044 ms.
        ("group.p1.gap.max == 1047ms", Unknown, Unknown),
        ("group.p1.gap.max <= 1047ms", Pass, Pass),
        ("group.p1.gap.max < 1044ms", Fail, Fail),
        ("group.p1.gap.min >= 1044ms", Pass, Pass),
        ("group.p1.gap.min >= 1045ms", Unknown, Unknown),
        ("group.p1.gap.count == 2", Pass, Pass),
        ("group.p1.gap.max < 1047ms", Unknown, Unknown),
        ("group.p1.gap.p50 <= bound.group.gap", Pass, Pass),
        ("group.p1.takeover.max >= 1s", Pass, Pass),
        ("group.p2.gap.max == 0s", Pass, Unknown),
        ("group.p2.gap.max <= bound.group.gap", Pass, Unknown),
        ("group.p2.gap.count > 0", Fail, Unknown),
        ("group.p2.gap.count == 1", Fail, Unknown),
        ("group.p2.overlap.count == 0", Pass, Pass),
        ("joint.gap.max <= bound.joint.gap", Pass, Unknown),
        ("joint.gap.max > 0s", Fail, Unknown),
        ("group.p9.gap.max == 0s", Unknown, Unknown),
    ] {
        let outcome = |extra: fn(&mut Story)| judged(1_047, &[text], extra).assertions[0].outcome;
        assert_eq!(outcome(complete), seen, "{text}");
        assert_eq!(outcome(blind), unseen, "{text}, half blind");
    }
    let both = judged(1_047, &["group.gap.max == 0s"], blind);
    let outcomes: Vec<_> = both.assertions.iter().map(|ruling| ruling.outcome).collect();
    assert_eq!(outcomes, [Fail, Unknown], "one a group");
    assert_eq!(both.verdict, Fail, "fail beats unknown");
}

#[test]
fn findings_after_faults_are_listed_separately() {
    let report = judged(1_047, &[], |story| {
        story.serves("p2-2.1", 0, 1, [100, 1_500]).lapsed("p2-2.1", 1_500, (0, 1), 1_500);
        complete(story);
    });
    let p1 = &report.groups[&name::<tandem::ids::GroupName>("p1")];
    assert_eq!((p1.fault.gap.count, p1.fault.gap.max_ms), (2, Some(1_047.0)), "two roles");
    assert_eq!((p1.fault.takeover.count, p1.other.none.gap.count), (2, 0));
    let p2 = &report.groups[&name::<tandem::ids::GroupName>("p2")];
    assert_eq!((p2.fault.overlap.count, p2.other.none.overlap.max_ms), (0, Some(1_000.0)));
    assert_eq!(report.joint.overlap.max_ms, Some(1_000.0));
    assert_eq!(report.joint.leaders_min, Some(1));
    let worst = &report.worst[0];
    assert_eq!((worst.roles, worst.duration_ms, worst.from_ms), (2, 1_047.0, 1_990.0));
    assert_eq!((worst.cause, worst.by.as_deref()), (CauseKind::Fault, Some("1.k")));
    assert_eq!((worst.uncertainty_ms, report.uncertainty_ms.max), (3.0, Some(3.0)));
    assert_eq!(report.floor_ms, 10.0, "from the last tick to the kill");
    assert_eq!((report.faults[0].asked_ms, report.faults[0].in_force_ms), (1_990.0, Some(1_993.0)));
    assert_eq!(report.verdict, Verdict::Pass, "{:?}", report.reasons);
    assert!((report.confidence.probability_max.unwrap() - 0.95).abs() < 1e-9);
}

/// A reason, and what brings it about.
type Case = (&'static str, fn(&mut Story));

#[test]
fn failed_faults_make_the_verdict_unknown() {
    let cases: [Case; 3] = [
        ("The run was cut off: its journal has no end.", |_| ()),
        ("The run could not go on: no broker.", |story| {
            let why = Some("no broker".to_owned());
            story.run(9_500, RunEvent::Ended { how: Outcome::Broken, why });
        }),
        ("Fault 1.z failed: p1-2 is not running.", |story| {
            story.asked("p1-2.1", 6_500, "1.z", "pause").settled("p1", 6_600);
            story.run(6_501, failed("1.z", "kill", "p1-2 is not running")).completed(9_500);
        }),
    ];
    for (reason, extra) in cases {
        let report = judged(1_047, &[], extra);
        assert_eq!(report.reasons, [reason]);
        assert_eq!(report.verdict, Verdict::Unknown);
    }
}

#[test]
fn unobserved_time_is_unknown_and_not_a_pass() {
    let report = judged(1_047, &[], blind);
    assert_eq!(
        report.reasons,
        [
            "All groups together: 47 ms could not be observed, so joint_gap <= 0s is unknown.",
            "Group p2: some time could not be observed, so leaders_per_group >= 1 is unknown.",
        ]
    );
    assert_eq!((report.verdict, report.unknown_ms), (Verdict::Unknown, 200.0));
    assert_eq!((report.confidence.trials, report.confidence.probability_max), (0, None));
}

#[test]
fn the_objective_is_judged_too() {
    let report = judged(1_047, &[], |story| {
        story.serves("p2-1.1", 0, 2, [9_401, 9_402]).lapsed("p2-1.1", 9_402, (0, 1), 2_500);
        complete(story);
    });
    let text: Vec<_> =
        report.objective.iter().map(|one| (one.text.as_str(), one.outcome)).collect();
    assert_eq!(
        text,
        [
            ("joint_gap <= 0s", Verdict::Fail),
            ("leaders_per_group >= 1 outside of faults", Verdict::Pass),
            ("leaders_per_group >= 1 outside of faults", Verdict::Fail),
            ("trials recovered >= 1", Verdict::Fail),
        ]
    );
    assert_eq!(
        report.reasons,
        [
            "All groups together: 2 gaps above 0s, the longest of 547.0 ms.",
            "Group p2 had a role with fewer than 1 leaders outside fault and recovery windows.",
            "Trial 1 ended with a gap or an overlap still open.",
        ]
    );
    assert_eq!((report.confidence.with_joint_gap, report.confidence.probability_max), (1, None));
    assert_eq!(Exit::of(&report).code(), 3);
}

/// The gap of p1 lasted 1044 to 1047 ms.
#[test]
fn a_limit_within_the_uncertainty_of_a_gap_makes_the_verdict_unknown() {
    let (plan, story) = run(1_047, complete);
    let verdict = |most| {
        let mut brief = brief(&plan, 1, &[]);
        brief.objective.group_gap = Some(Span::ms(most));
        let report = Report::compute(&plan, &brief, 42, at(10), &story.facts);
        (report.verdict, report.reasons)
    };
    assert_eq!(verdict(1_047), (Verdict::Pass, vec![]));
    assert_eq!(verdict(1_043).0, Verdict::Fail);
    let why =
        "Group p1: intervals may be up to 3.0 ms shorter, so group_gap <= 1s 46ms is unknown.";
    assert_eq!(verdict(1_046), (Verdict::Unknown, vec![why.to_owned()]));
    assert_eq!(verdict(1_044).0, Verdict::Unknown);
}

#[test]
fn the_exit_code_is_the_first_that_applies() {
    let mut report = judged(1_047, &[], complete);
    let all = [Verdict::Pass, Verdict::Unknown, Verdict::Fail];
    for (outcome, codes) in [
        (Some(Outcome::Completed), [0, 4, 3]),
        (Some(Outcome::Broken), [0, 4, 3]),
        (None, [0, 4, 3]),
        (Some(Outcome::Aborted), [5, 5, 5]),
        (Some(Outcome::Interrupted), [130, 130, 130]),
        (Some(Outcome::Unhealed), [6, 6, 6]),
    ] {
        report.outcome = outcome;
        for (verdict, code) in all.into_iter().zip(codes) {
            report.verdict = verdict;
            assert_eq!(Exit::of(&report).code(), code, "{outcome:?} {verdict:?}");
        }
    }
}

#[test]
fn a_trial_that_was_cut_short_is_unknown_and_did_not_fail() {
    let (plan, story) = run(1_047, |_| ());
    let brief = brief(&plan, 1, &[]);
    let verdict = |cut: Option<bool>, how| {
        let mut story = story.clone();
        for fact in &mut story.facts {
            if let What::Run(RunEvent::TrialEnded { recovered, .. }) = &mut fact.what {
                *recovered = cut;
            }
        }
        story.run(9_500, RunEvent::Ended { how, why: None });
        Report::compute(&plan, &brief, 42, at(10), &story.facts).verdict
    };
    assert_eq!(verdict(None, Outcome::Interrupted), Verdict::Unknown);
    assert_eq!(verdict(None, Outcome::Broken), Verdict::Unknown);
    assert_eq!(verdict(Some(false), Outcome::Broken), Verdict::Fail);
    assert_eq!(verdict(Some(false), Outcome::Completed), Verdict::Fail);
}

#[test]
fn a_run_that_its_guard_ended_is_unknown() {
    let left = judged(1_047, &["joint.gap.max == 0ms", "group.gap.max <= 1s"], |story| {
        // All are dead when the controller wakes.
        for fact in &mut story.facts {
            if let What::Run(RunEvent::TrialEnded { recovered, .. }) = &mut fact.what {
                *recovered = Some(false);
            }
        }
        for who in ["p1-2.1", "p2-1.1", "p2-2.1", "p1-1.2"] {
            story.died(who, 7_000);
        }
        story.run(7_100, RunEvent::Unattended { from: at(1_900) });
        story.run(9_500, RunEvent::Ended { how: Outcome::Broken, why: Some("healed".to_owned()) });
    });
    let outcomes = left.objective.iter().chain(&left.assertions).map(|one| one.outcome);
    let outcomes: Vec<_> = outcomes.collect();
    assert_eq!(outcomes, [Verdict::Unknown; 7], "{:?}", left.reasons);
    assert_eq!((Exit::of(&left).code(), left.unknown_ms), (4, 7_100.0));
    assert_eq!(left.reasons[0], "The run could not go on: healed.");
}

#[test]
fn where_no_trial_was_played_to_its_end_nothing_was_shown() {
    let claims = ["joint.gap.max == 0ms", "joint.gap.count >= 1", "group.p2.gap.count == 0"];
    let is_end = |what: &What| matches!(what, What::Run(RunEvent::TrialEnded { .. }));
    let is_trial =
        |what: &What| matches!(what, What::Run(RunEvent::TrialBegan { .. })) || is_end(what);
    let outcomes = |lacks: &dyn Fn(&What) -> bool| {
        let report = judged(1_047, &claims, |story| {
            for fact in story.facts.iter_mut().filter(|fact| lacks(&fact.what)) {
                fact.what = What::Run(RunEvent::Settled { group: name("p2") });
            }
            complete(story);
        });
        let rulings = report.objective.iter().chain(&report.assertions);
        rulings.map(|one| one.outcome).collect::<Vec<_>>()
    };
    assert_eq!(outcomes(&is_end), [Verdict::Unknown; 7], "one was cut off");
    assert_eq!(outcomes(&is_trial), [Verdict::Unknown; 7], "none was begun");
}

#[test]
fn a_fault_without_victims_is_recorded() {
    let report = judged(1_047, &[], |story| {
        story.run(6_501, failed("1.other", "pause", "eurusd has no leader"));
        complete(story);
    });
    assert_eq!(report.verdict, Verdict::Unknown);
    assert!(report.reasons.iter().any(|why| why.contains("eurusd has no leader")), "{report:?}");
}

#[test]
fn a_trial_whose_fault_failed_counts_for_no_confidence() {
    let failed = |story: &mut Story| {
        story.run(2_001, failed("1.k", "kill", "refused"));
        complete(story);
    };
    let with_gap = |story: &mut Story| {
        story.serves("p2-1.1", 0, 2, [9_401, 9_402]).lapsed("p2-1.1", 9_402, (0, 1), 2_500);
        failed(story);
    };
    for report in [judged(1_047, &[], failed), judged(1_047, &[], with_gap)] {
        let seen = report.confidence;
        assert_eq!((seen.trials, seen.with_joint_gap, seen.probability_max), (0, 0, None));
    }
    assert_eq!(judged(1_047, &[], complete).confidence.trials, 1);
}

#[test]
fn the_page_says_the_verdict_first_and_fits() {
    let claims = ["joint.gap.max == 0ms", "group.gap.p99 <= bound.group.gap"];
    let pass = judged(1_047, &claims, |story| {
        story.run(2_600, RunEvent::Stall { from: at(2_500), until: at(2_532), waited_ns: None });
        complete(story);
    });
    let fail = judged(1_500, &claims, blind);
    for report in [&pass, &fail] {
        let text = render(report, "tandem-out/kill-leader", false);
        assert!(text.lines().count() <= 23, "{text}"); // and a prompt
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let coloured = render(report, "tandem-out/kill-leader", true);
        let plain = coloured.split('\x1b').map(|part| {
            part.split_once('m')
                .filter(|(code, _)| code.starts_with('['))
                .map_or(part, |(_, rest)| rest)
        });
        assert_eq!(plain.collect::<String>(), text);
    }
    for report in [&pass, &fail] {
        let (wide, narrow) =
            (render(report, "out", false), render_within(report, "out", false, 80));
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        let words = |text: &str| -> Vec<String> {
            let below = text.split_once("\nobjective").unwrap().1;
            below.split_whitespace().map(str::to_owned).collect()
        };
        assert_eq!(words(&narrow), words(&wide), "nothing is cut");
    }
    // A word is cut only where there is no room.
    let causes = judged(1_047, &claims, |story| {
        story.serves("p2-2.1", 0, 1, [100, 1_500]).lapsed("p2-2.1", 1_500, (0, 1), 1_500);
        complete(story);
    });
    let text = render(&causes, "tandem-out/kill-leader", false);
    assert!(text.contains("\n  no cause "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    insta::assert_snapshot!("pass", render(&pass, "tandem-out/kill-leader", false));
    insta::assert_snapshot!("fail", render(&fail, "tandem-out/kill-leader", false));
    let json = serde_json::to_string_pretty(&pass).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), pass);
}
