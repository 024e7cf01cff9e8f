//! A leader that reaches its coordinator and hears nothing on its partitions gives way: with real
//! processes, its Fetch and Produce requests are lost at an edge.

use std::time::Duration;

use support::experiment::{Experiment, Finished};
use support::measured::{measured, require};
use support::quiet::{NOISE_MAX, await_quiet};
use tandem::observation::{MemberEvent, What};
use tandem::timeline::Cause;

/// One leader of p1 is deaf for as long as the fault lasts.
fn deaf(set: &[&str]) -> Experiment {
    await_quiet(NOISE_MAX);
    let text = "version: 1\nname: deaf\ntrials: 2\nmethod:\n  \
         - {id: c, at: 500ms, jitter: 300ms, fault: partition, apis: data, for: 10s, \
         target: {leader_of: any, group: p1}}\nobjective: {joint_gap: 0s}\nassert:\n  \
         - group.gap.max <= bound.group.gap\n  - group.overlap.max <= bound.group.overlap\n";
    let experiment = Experiment::of("deaf.yaml", text).with("-f topologies/duo.yaml");
    set.iter().fold(experiment, |experiment, set| experiment.with(&format!("--set defaults.{set}")))
}

/// The plan's bound holds, and others lead what the deaf member led, long before the heal.
fn holds(run: &Finished) -> Result<(), String> {
    require(run.code() == Some(0), || "it passes".to_owned())?;
    let timeline = run.timeline();
    let (name, group) = timeline.groups.first_key_value().ok_or("a group")?;
    require(name.as_str() == "p1", || format!("p1, not {name}"))?;
    let gaps: Vec<Duration> = group.findings.gaps.iter().map(|gap| gap.span.length()).collect();
    require(gaps.len() >= run.counted(), || format!("a claim lapses in each trial: {gaps:?}"))?;
    let caused = group.findings.gaps.iter().all(|gap| matches!(gap.cause, Cause::Fault(_)));
    require(caused, || "all are of the fault".to_owned())?;
    // It took no session: the deaf member was never thrown out.
    let facts = &run.recording().facts;
    let lost = facts.iter().any(|fact| matches!(fact.what, What::Member(MemberEvent::Lost { .. })));
    require(!lost, || "no member loses its place".to_owned())
}

#[test]
fn a_deaf_leader_is_replaced_within_the_bound() {
    let run = measured(|| deaf(&["threshold=1500ms"]), holds);
    assert!(run.is_none_or(|run| run.played() >= 2));
}

#[test]
fn a_deaf_leader_in_exclusive_mode_is_replaced_within_the_bound_and_never_doubled() {
    let run = measured(
        || deaf(&["mode=exclusive"]),
        |run| {
            holds(run)?;
            let overlaps: usize =
                run.timeline().groups.values().map(|group| group.findings.overlaps.len()).sum();
            require(overlaps == 0, || format!("{overlaps} overlaps"))
        },
    );
    assert!(run.is_none_or(|run| run.played() >= 2));
}
