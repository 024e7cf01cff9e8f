//! Members that stand in for each other: a death, and a silence, with a session of ten seconds.

use std::time::Duration;

use support::experiment::{Experiment, Finished, Running};
use support::measured::{measured_alone_together, require};
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

/// The dead are stood in for at once.
fn dead(run: &Finished) -> Result<(), String> {
    require(run.code() == Some(0), || "it passes".to_owned())?;
    let median = median(run);
    let soon = median.is_some_and(|gap| gap < Duration::from_millis(20));
    require(soon, || format!("the median gap is {median:?}"))?;
    let (killed, without, _) = victims(&run.counted_facts());
    let counts = || format!("{without} of {killed} had no stand-in");
    require(killed >= 3 && without == 0 && run.played() >= 3, counts)
}

/// A silent member is stood in for until it speaks.
fn silent(run: &Finished) -> Result<(), String> {
    require(run.code() == Some(0), || "it passes".to_owned())?;
    let median = median(run);
    let (least, most) = (Duration::from_millis(40), Duration::from_millis(90));
    let soon = median.is_some_and(|gap| (least..most).contains(&gap));
    require(soon && run.played() >= 3, || format!("the median gap is {median:?}"))
}

/// No member stands in for the living.
fn calm(run: &Finished) -> Result<(), String> {
    require(run.code() == Some(0), || "it passes".to_owned())?;
    let found = stand_ins(&run.counted_facts());
    require(found.is_empty(), || format!("{found:?}"))
}

#[test]
fn members_stand_in_for_the_dead_and_the_silent_and_not_for_the_living() {
    let of = |name: &str, step: &str, set: &str| {
        // The bound of a stand-in is 50 ms: a stall of half of that disturbs the trial.
        let text = experiment(name, step, TRIALS).replace("stall: 50ms", "stall: 25ms");
        let run = Experiment::of(&format!("{name}.yaml"), &text);
        run.with(&format!("{ON} {set}")).with_rule().start()
    };
    let suspecting = |after| format!("--set defaults.suspect={after}");
    let play = || {
        let kill = of("kill", "fault: kill", "");
        let pause = of("pause", "fault: pause, for: 2s", &suspecting("50ms"));
        let calm = Experiment::calm("10s").with(&format!("{ON} {}", suspecting("100ms")));
        [kill, pause, calm.with_rule().start()].map(Running::finish)
    };
    drop(measured_alone_together(play, |[kill, pause, quiet]| {
        dead(kill).map_err(|why| format!("kill: {why}"))?;
        silent(pause).map_err(|why| format!("pause: {why}"))?;
        calm(quiet).map_err(|why| format!("calm: {why}"))
    }));
}
