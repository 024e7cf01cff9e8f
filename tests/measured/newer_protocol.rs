//! `protocol: consumer`: the brokers share out the partitions, and a run sets the group's session.
//! A killed leader is missed for no longer than the plan says.

use support::experiment::Experiment;
use support::measured::{BRISK, measured, require};
use tandem::timeline::Cause;

/// In exclusive mode too, in which no two lead.
#[test]
fn a_killed_leader_of_the_newer_protocol_is_missed_no_longer_than_the_plan_says() {
    const CONSUMER: &str = "--set defaults.protocol=consumer";
    const EXCLUSIVE: &str = "--set defaults.mode=exclusive --set defaults.restart.after=1500ms";
    for set in [BRISK, EXCLUSIVE] {
        let Some(run) = measured(
            || {
                let kill = Experiment::new("chaos/kill-leader.yaml").with("--trials 3");
                kill.with(CONSUMER).with(set)
            },
            |run| require(run.code() == Some(0), || "it passes".to_owned()),
        ) else {
            continue;
        };
        let timeline = run.timeline();
        let exclusive = set == EXCLUSIVE;
        for of in timeline.groups.values() {
            assert!(!exclusive || of.findings.overlaps.is_empty(), "no overlap: {run}");
        }
        let gaps = timeline.groups.values().flat_map(|group| &group.findings.gaps);
        let bitten = gaps.filter(|gap| matches!(gap.cause, Cause::Fault(_))).count();
        assert!(bitten >= run.counted(), "each kill is missed by its group: {run}");
    }
}
