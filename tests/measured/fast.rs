//! Groups in fast mode, with real processes: what their faults cost is within the printed bounds,
//! and where a leader is killed or cut off, two never lead.

use support::experiment::Experiment;
use support::measured::{measured, require};
use tandem::timeline::Cause;

/// Of each group a leader, in turn: p1's is killed, p2's is cut off.
const BOTH: &str = "\
version: 1
name: fast
trials: 3
method:
  - {id: k, at: 500ms, jitter: 300ms, fault: kill, target: {leader_of: any, group: p1}}
  - {id: c, after: k, delay: 500ms, fault: partition, for: 3s, target: {leader_of: any, group: p2}}
objective: {joint_gap: 10s}
assert:
  - group.gap.max <= bound.group.gap
  - group.overlap.max == 0ms
";

#[test]
fn a_killed_and_an_isolated_leader_cost_gaps_and_no_overlap() {
    let experiment = || Experiment::of("fast.yaml", BOTH).with("-f topologies/fast.yaml");
    let run = measured(experiment, |run| {
        require(run.code() == Some(0), || "it passes".to_owned())?;
        let timeline = run.timeline();
        for (name, of) in &timeline.groups {
            let by_fault = |cause: &Cause| matches!(cause, Cause::Fault(_));
            let gaps = of.findings.gaps.iter().filter(|gap| by_fault(&gap.cause)).count();
            require(gaps >= 3, || format!("a gap in each trial of {name}, not {gaps}"))?;
            require(of.findings.overlaps.is_empty(), || format!("no overlap in {name}"))?;
        }
        Ok(())
    });
    let Some(run) = run else { return };
    assert_eq!(run.report().trials, 3, "{run}");
}

/// A leader that is stopped for less than a session is fenced, and leads on when it wakes; one that
/// sleeps for longer is replaced, and at its next heartbeat knows it.
const PAUSES: &str = "\
version: 1
name: fast-pauses
trials: 3
method:
  - {id: s, at: 500ms, jitter: 300ms, fault: pause, for: 650ms, target: {leader_of: any, group: p1}}
  - {id: l, after: s, delay: 500ms, fault: pause, for: 3s, target: {leader_of: any, group: p2}}
objective: {joint_gap: 10s}
assert:
  - group.gap.max <= bound.group.gap
  - group.overlap.max <= bound.group.overlap
";

#[test]
fn a_leader_that_sleeps_in_fast_mode_costs_no_more_than_its_bounds() {
    let experiment = || Experiment::of("pauses.yaml", PAUSES).with("-f topologies/fast.yaml");
    let run = measured(experiment, |run| {
        require(run.code() == Some(0), || "it passes".to_owned())?;
        let timeline = run.timeline();
        let short = timeline.groups.values().next().map(|of| &of.findings.takeovers);
        require(short.is_some(), || "p1".to_owned())
    });
    let Some(run) = run else { return };
    assert_eq!(run.report().trials, 3, "{run}");
}
