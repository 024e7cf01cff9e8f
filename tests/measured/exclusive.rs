//! A group in exclusive mode, with real processes: whatever is done to its leaders, two never lead
//! one role, and the gaps are within the printed bounds.

use support::exclusive::{KINDS, Kind};
use support::experiment::Experiment;
use support::measured::{measured, require};

/// Plays three trials of a kind on the topology, with `set` replaced in it.
fn play(kind: &Kind, set: &str) {
    let text = kind.experiment(3);
    let experiment =
        || Experiment::of("exclusive.yaml", &text).with("-f topologies/exclusive.yaml").with(set);
    let run = measured(experiment, |run| {
        require(run.code() == Some(0), || "it passes".to_owned())?;
        let timeline = run.timeline();
        for (name, of) in &timeline.groups {
            require(of.findings.overlaps.is_empty(), || format!("no overlap in {name}"))?;
            let gaps = of.findings.gaps.len();
            require(!kind.bites || gaps >= 3, || {
                format!("a gap in each trial of {name}, not {gaps}")
            })?;
        }
        Ok(())
    });
    let Some(run) = run else { return };
    assert!(run.report().trials >= 3, "{run}");
}

fn named(name: &str) -> &'static Kind {
    KINDS.iter().find(|kind| kind.name == name).unwrap()
}

#[test]
fn two_never_lead_in_exclusive_mode() {
    for kind in &KINDS {
        eprintln!("{}", kind.name);
        play(kind, "");
    }
}

/// Each rebalance waits for claims that outlive a revocation.
#[test]
fn claims_may_outlive_a_revocation() {
    for name in ["kill", "leave"] {
        play(named(name), "--set defaults.hold=200ms");
    }
}
