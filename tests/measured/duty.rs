//! What is measured where members run a program of the user is the service of that program.

use std::time::Duration;

use support::duty::{ALONE, said, with_program};
use support::experiment::Experiment;
use support::measured::{measured, measured_alone, require};
use tandem::time::Mono;

/// Ticks each 10 ms, hangs now and then, and writes down each hole in its ticks that is longer than
/// 100 ms, also those that the host causes: its last tick before and the first after, on the clock
/// of the journal.
const HANGS: &str = r#"
import os, sys, time
fd, log = int(os.environ["TANDEM_TICK_FD"]), open(sys.argv[1] + "/holes", "a", buffering=1)
def tick():
    os.write(fd, b"I serve\n")
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
last, count = tick(), 0
while True:
    count += 1
    time.sleep(0.15 + count % 250 / 1000 if count % 50 == 0 else 0.01)
    this = tick()
    if this - last > 100_000_000:
        print(last, this, file=log)
    last = this
"#;
/// From a tick to its stamp: a pipe, and a thread that wakes. At the median.
const STAMPED: Duration = Duration::from_millis(10);
/// The same of each tick: a stall that is hardly longer disturbs the trial.
const STAMPED_MOST: Duration = Duration::from_millis(30);

/// The holes that the program wrote down.
fn holes(text: &str) -> Vec<(Mono, Mono)> {
    let parse = |line: &str| {
        let (from, until) = line.split_once(' ')?;
        Some((Mono(from.parse().ok()?), Mono(until.parse().ok()?)))
    };
    text.lines().filter_map(parse).collect()
}

#[test]
fn a_program_that_hangs_has_exactly_the_gaps_that_it_knows_of() {
    let calm =
        || Experiment::shortened("calm", "for: 60s}\n", "for: 12s}\ndisturbed: {stall: 25ms}\n");
    let run = measured_alone(
        || with_program(calm(), "r", ALONE, "ticks: true", ("duty.py", HANGS)),
        |run| {
            let planted = holes(&said(run, "holes"));
            let timeline = run.timeline();
            let trial = timeline.record.trials.first().ok_or("no trial")?.window;
            let gaps = timeline.groups.values().flat_map(|group| &group.findings.gaps);
            // Those at the edges of the trial are cut there.
            let whole = |from: Mono, until: Mono| trial.from < from && until < trial.until;
            let gaps = gaps.map(|gap| (gap.span.from, gap.span.until));
            let gaps: Vec<_> = gaps.filter(|(from, until)| whole(*from, *until)).collect();
            // What ends right before the trial does may be stamped after it.
            let inside = planted.iter().filter(|(from, until)| whole(*from, *until + STAMPED_MOST));
            let inside: Vec<_> = inside.collect();
            require(inside.len() >= 8, || format!("{} planted: {planted:?}", inside.len()))?;
            let apart = |a: Mono, b: Mono| a.since(b).max(b.since(a));
            let off = |gap: &(Mono, Mono), hole: &(Mono, Mono)| {
                apart(gap.0, hole.0).max(apart(gap.1, hole.1))
            };
            let nearest = |hole: &(Mono, Mono)| gaps.iter().map(|gap| off(gap, hole)).min();
            let mut offs: Vec<_> = inside.iter().filter_map(|hole| nearest(hole)).collect();
            offs.sort_unstable();
            let difference = || format!("planted {planted:?}, found {gaps:?}, off by {offs:?}");
            let all = offs.last().is_some_and(|most| *most <= STAMPED_MOST);
            let is = |gap: &(Mono, Mono), hole: &(Mono, Mono)| off(gap, hole) <= STAMPED_MOST;
            let only = gaps.iter().all(|gap| planted.iter().any(|hole| is(gap, hole)));
            let median = offs.get(offs.len() / 2).is_some_and(|median| *median <= STAMPED);
            require(all && only && median, difference)
        },
    );
    assert!(run.is_none_or(|run| run.played() == 1), "it is one trial");
}

#[test]
fn a_program_that_only_lives_serves_while_it_hangs() {
    let hangs = "while :; do sleep 60; done\n";
    let run = measured(
        || with_program(Experiment::calm("5s"), "r", ALONE, "", ("duty.sh", hangs)),
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            let timeline = run.timeline();
            let gaps: Vec<_> = timeline.groups.values().map(|it| it.findings.gaps.len()).collect();
            require(gaps == [0], || format!("gaps: {gaps:?}"))
        },
    );
    assert!(run.is_none_or(|run| run.played() == 1), "it is one trial");
}

#[test]
fn faults_cost_the_program_no_more_than_the_plan_says() {
    let run = measured_alone(
        || Experiment::new("chaos/own-program.yaml"),
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            let timeline = run.timeline();
            let gaps = timeline.groups.values().flat_map(|group| &group.findings.gaps);
            let session = Duration::from_millis(850);
            let long = gaps.filter(|gap| gap.span.length() >= session).count();
            require(long >= 2, || format!("{long} gaps of a session, by two kills"))
        },
    );
    assert!(run.is_none_or(|run| run.played() >= 2), "each trial is played");
}
