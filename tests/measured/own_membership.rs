//! Group membership of our own: a killed leader is missed for no longer than the plan says, and one
//! that leaves only for a rebalance.

use std::time::Duration;

use support::experiment::Experiment;
use support::measured::{BRISK, measured, require};
use tandem::timeline::Cause;

const OWN: &str = "--set defaults.membership=own";

#[test]
fn a_killed_leader_is_missed_no_longer_than_the_plan_says() {
    let Some(run) = measured(
        || Experiment::new("chaos/kill-leader.yaml").with("--trials 3").with(BRISK).with(OWN),
        |run| require(run.code() == Some(0), || "it passes".to_owned()),
    ) else {
        return;
    };
    let timeline = run.timeline();
    let gaps = timeline.groups.values().flat_map(|group| &group.findings.gaps);
    let bitten = gaps.filter(|gap| matches!(gap.cause, Cause::Fault(_))).count();
    assert!(bitten >= run.played(), "each kill is missed by its group: {run}");
}

#[test]
fn a_leader_that_leaves_is_missed_for_a_rebalance() {
    let run = measured(
        || Experiment::new("chaos/leave-leader.yaml").with("--trials 3").with(BRISK).with(OWN),
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            let timeline = run.timeline();
            let gaps = timeline.groups.values().flat_map(|group| &group.findings.gaps);
            let gaps = gaps.filter(|gap| matches!(gap.cause, Cause::Fault(_)));
            let longest = gaps.map(|gap| gap.span.length()).max();
            let short = longest.is_none_or(|gap| gap <= Duration::from_millis(200));
            require(short, || format!("a gap of {longest:?}"))
        },
    );
    assert!(run.is_none_or(|run| run.played() >= 3), "every leave is tried");
}
