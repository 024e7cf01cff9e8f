//! Groups in exclusive mode, with real processes: in all that is done to a leader, two never lead
//! one role, and gaps are within the printed bounds.

use std::time::Duration;

use support::exclusive::{KINDS, Kind, fences_rise};
use support::experiment::{Experiment, Finished, Running};
use support::measured::{measured, measured_together, require};

/// How many kinds are tried at once, each on a topology of its own.
const TOGETHER: usize = 4;
const TRIALS: u32 = 3;

/// Starts trials of a kind, with `set` replaced in the topology.
fn start(kind: &Kind, set: &str) -> Running {
    let text = kind.experiment(TRIALS);
    let experiment = Experiment::of("exclusive.yaml", &text).with("-f topologies/exclusive.yaml");
    experiment.with(set).with_rule().start()
}

fn is_right(kind: &Kind, run: &Finished) -> Result<(), String> {
    let Kind { name, bites, .. } = kind;
    require(run.code() == Some(0), || format!("{name} passes"))?;
    for of in run.timeline().groups.values() {
        require(of.findings.overlaps.is_empty(), || format!("no overlap in {name}"))?;
        let gaps = of.findings.gaps.len();
        let enough = !bites || gaps >= run.counted();
        require(enough, || format!("a gap in each trial of {name}, not {gaps}"))?;
    }
    fences_rise(&run.recording().facts).map_err(|why| format!("{name}: {why}"))?;
    require(run.played() >= 3, || format!("three trials of {name}"))
}

fn named(name: &str) -> &'static Kind {
    KINDS.iter().find(|kind| kind.name == name).unwrap()
}

/// Tries these kinds at once.
fn play(kinds: [&Kind; TOGETHER], set: &str) {
    let runs = measured_together(
        || kinds.map(|kind| start(kind, set)).map(Running::finish),
        |runs| kinds.iter().zip(runs).try_for_each(|(kind, run)| is_right(kind, run)),
    );
    drop(runs);
}

/// One test, so that no two of these fours are made beside each other. The last waits at each
/// rebalance for claims that outlive a revocation.
#[test]
fn two_never_lead_in_exclusive_mode() {
    let (fours, rest) = KINDS.as_chunks::<TOGETHER>();
    assert!(rest.is_empty(), "each kind is tried");
    for kinds in fours {
        play(kinds.each_ref(), "");
    }
    let kinds = ["kill", "leave", "pause-beyond", "isolation"].map(named);
    play(kinds, "--set defaults.hold=200ms");
}

/// A parent that leaves for its dead costs the group a rebalance instead of a session of ten
/// seconds.
#[test]
fn the_dead_are_left_for_at_once() {
    let run = measured(
        || {
            let text = named("kill").experiment(TRIALS);
            let set = "--set defaults.session=10s --set defaults.heartbeat=100ms \
                       --set defaults.on_death=leave --set defaults.restart.after=1500ms";
            let topology = format!("-f topologies/exclusive.yaml {set}");
            Experiment::of("exclusive.yaml", &text).with(&topology)
        },
        |run| {
            is_right(named("kill"), run)?;
            let timeline = run.timeline();
            let gaps = timeline.groups.values().flat_map(|of| &of.findings.gaps);
            let longest = gaps.map(|gap| gap.span.length()).max();
            let soon = longest.is_some_and(|gap| gap < Duration::from_millis(500));
            require(soon, || format!("a gap of {longest:?}"))
        },
    );
    assert!(run.is_none_or(|run| run.played() >= 3), "each kill is tried");
}
