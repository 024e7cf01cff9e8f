//! Members that stand in for each other: a death, and a silence, with a session of ten seconds.

use std::time::Duration;

use support::experiment::{Experiment, Finished};
use support::measured::{measured, require};
use support::stand_in::{experiment, stand_ins, victims};

const ON: &str = "-f topologies/stand-in.yaml";
const TRIALS: u32 = 4;

/// The median of the gaps of the group, if it had any.
fn median(run: &Finished) -> Option<Duration> {
    let timeline = run.timeline();
    let gaps = timeline.groups.values().flat_map(|group| &group.findings.gaps);
    let mut all: Vec<Duration> = gaps.map(|gap| gap.span.length()).collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied()
}

#[test]
fn the_dead_are_stood_in_for_at_once() {
    let run = measured(
        || Experiment::of("kill.yaml", &experiment("kill", "fault: kill", TRIALS)).with(ON),
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            let median = median(run);
            let soon = median.is_some_and(|gap| gap < Duration::from_millis(20));
            require(soon, || format!("the median gap is {median:?}"))?;
            let (killed, without, _) = victims(&run.recording().facts);
            let counts = || format!("{without} of {killed} had no stand-in");
            require(killed >= 3 && without == 0, counts)
        },
    );
    assert!(run.is_none_or(|run| run.played() >= 3), "each kill is tried");
}

#[test]
fn a_silent_member_is_stood_in_for_until_it_speaks() {
    let suspecting = format!("{ON} --set defaults.suspect=50ms");
    let run = measured(
        || {
            let text = experiment("pause", "fault: pause, for: 2s", TRIALS);
            Experiment::of("pause.yaml", &text).with(&suspecting)
        },
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            let median = median(run);
            let (least, most) = (Duration::from_millis(40), Duration::from_millis(90));
            let soon = median.is_some_and(|gap| (least..most).contains(&gap));
            require(soon, || format!("the median gap is {median:?}"))
        },
    );
    assert!(run.is_none_or(|run| run.played() >= 3), "each pause is tried");
}

#[test]
fn nobody_stands_in_for_the_living() {
    let suspecting = format!("{ON} --set defaults.suspect=100ms");
    let run = measured(
        || Experiment::calm("10s").with(&suspecting),
        |run| {
            let found = stand_ins(&run.recording().facts);
            require(found.is_empty(), || format!("{found:?}"))
        },
    );
    assert!(run.is_none_or(|run| run.code() == Some(0)), "nothing is found");
}
