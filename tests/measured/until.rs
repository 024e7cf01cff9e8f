//! Runs that go on until a claim holds, or until it cannot hold any more.

use support::experiment::Experiment;
use support::measured::{measured, require};
use tandem::verdict::{StoppingOutcome, Verdict};

fn experiment(claim: &str, method: &str) -> String {
    format!(
        "version: 1\nname: until\nseed: 7\ntrials: {claim}\nobjective: {{joint_gap: 10s}}\n\
         method: [{method}]\n"
    )
}

#[test]
fn a_run_stops_at_the_look_at_which_its_claim_holds() {
    let claim = "{min: 2, max: 60, until: {gap_probability: \"< 30%\", confidence: 80%}}";
    let text = experiment(claim, "{fault: noop, for: 200ms}");
    let Some(run) = measured(
        || Experiment::of("until.yaml", &text),
        |run| {
            let report = run.report();
            let stopping = report.confidence.stopping.as_ref().unwrap();
            require(stopping.outcome == StoppingOutcome::Claimed, || stopping.why.clone())
        },
    ) else {
        return;
    };
    let report = run.report();
    let stopping = report.confidence.stopping.as_ref().unwrap();
    assert_eq!(Some(&u64::from(report.trials)), stopping.looks.first(), "{run}");
    assert_eq!((run.code(), report.verdict), (Some(0), Verdict::Pass), "{run}");
    assert!(report.trials < report.trials_asked, "{run}");
    assert!(run.stdout.contains("stopped: gap_probability < 30 % (80 %) holds"), "{run}");
    assert_eq!(run.judged_again().status.code(), Some(0));
}

#[test]
fn a_run_gives_up_where_its_claim_cannot_hold_any_more_and_is_unknown() {
    let claim = "{min: 1, max: 8, until: {gap_probability: \"< 30%\", confidence: 90%}}";
    let kill = "{at: 300ms, fault: kill, target: {leader_of: any, across: {groups: all}}}";
    let text = experiment(claim, kill);
    let Some(run) = measured(
        || Experiment::of("until.yaml", &text),
        |run| {
            let reasons = run.report().reasons;
            require(reasons.len() == 1, || format!("one reason: {reasons:?}"))
        },
    ) else {
        return;
    };
    let report = run.report();
    let stopping = report.confidence.stopping.as_ref().unwrap();
    assert_eq!((report.trials, stopping.outcome), (1, StoppingOutcome::Hopeless), "{run}");
    assert_eq!((run.code(), report.verdict), (Some(4), Verdict::Unknown), "{run}");
    assert_eq!(
        report.reasons,
        ["gap_probability < 30 % (90 %) cannot hold within 8 trials: \
             a joint gap in 1 of 1 trials."]
    );
}
