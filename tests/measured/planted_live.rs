//! Gaps planted in a living member: the test stops and wakes it between stamps of its own, or
//! watches the experiment do it, and what Tandem says of each lies no further from the truth than
//! it admits.

use std::fmt::Write;
use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Experiment, Finished, LONELY, Running, eventually, signal_pid};
use support::measured::{shared_turn, turn};
use support::quiet::{NOISE_MAX, await_quiet, undisturbed};
use tandem::observation::{RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::{Finding, Interval};

/// How many gaps are planted.
const PLANTED: usize = 10;
/// What is known of a gap is known within this, at the median.
const KNOWN: Duration = Duration::from_millis(2);

/// When something happened: at an instant within these.
type Bracket = (Mono, Mono);

/// A stop and a waking, as the test knows them.
#[derive(Debug, Clone, Copy)]
struct Planted {
    stopped: Bracket,
    woken: Bracket,
}

/// Whether the kernel has stopped every thread of a process.
fn is_stopped(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let mut states = threads.map(|thread| {
        let stat = fs::read_to_string(thread.unwrap().path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    });
    states.all(|stopped| stopped)
}

/// Waits, without rest, until the process is stopped, or is not: between which looks it happened.
/// At `before` it had not yet.
fn watch(pid: u32, mut before: Mono, stopped: bool) -> Bracket {
    let began = Mono::now();
    loop {
        let now = Mono::now();
        if is_stopped(pid) == stopped {
            return (before, Mono::now());
        }
        before = now;
        assert!(now.since(began) < Duration::from_secs(60), "{pid}: stopped is not {stopped}");
        std::thread::sleep(Duration::from_micros(100));
    }
}

fn member(run: &Running) -> u32 {
    run.await_facts("a trial", |facts| {
        facts.iter().find(|fact| matches!(fact.what, What::Run(RunEvent::TrialBegan { .. })))?;
        facts.iter().find_map(|fact| match fact.what {
            What::Run(RunEvent::Started { pid, .. }) => Some(pid),
            _ => None,
        })
    })
}

/// Plain signals from a process that Tandem does not know.
fn from_outside() -> (Finished, Vec<Planted>) {
    let order = Experiment::calm("10s").with_rule();
    let file = order.write("lonely.yaml", LONELY);
    let run = order.with(&format!("-f {}", file.display())).start();
    let pid = member(&run);
    let mut planted = Vec::new();
    for number in 0..PLANTED {
        let asked = Mono::now();
        signal_pid(pid, Signal::STOP);
        let (_, seen) = watch(pid, asked, true);
        let length = 40 * u64::try_from(number % 5).unwrap() + 120;
        std::thread::sleep(Duration::from_millis(length));
        let before = Mono::now();
        signal_pid(pid, Signal::CONT);
        planted.push(Planted { stopped: (asked, seen), woken: (before, Mono::now()) });
        std::thread::sleep(Duration::from_millis(300));
    }
    (run.finish(), planted)
}

/// The experiment's own pauses, which the test watches. They are long enough to be seen where the
/// host keeps the test from looking for half a second.
fn by_experiment() -> (Finished, Vec<Planted>) {
    let mut text = String::from("version: 1\nname: planted\nmethod:\n");
    let target = "fault: pause, for: 700ms, target: {member: p1-1}";
    writeln!(text, "  - {{id: p0, at: 300ms, {target}}}").unwrap();
    for number in 1..PLANTED {
        let before = number - 1;
        let step = format!("id: p{number}, after: p{before}, delay: 1s");
        writeln!(text, "  - {{{step}, {target}}}").unwrap();
    }
    let order = Experiment::of("planted.yaml", &text).with_rule();
    let file = order.write("lonely.yaml", LONELY);
    let mut before = Mono::now();
    let run = order.with(&format!("-f {}", file.display())).start();
    let pid = member(&run);
    let pause = |_| {
        let stopped = watch(pid, before, true);
        let woken = watch(pid, stopped.1, false);
        before = woken.1;
        Planted { stopped, woken }
    };
    let planted = (0..PLANTED).map(pause).collect();
    (run.finish(), planted)
}

/// What Tandem found, on a host that scheduled instrument and member: otherwise the host may have
/// caused more, and the run is unknown.
fn found(run: &Finished) -> Vec<Finding> {
    let report = run.report();
    let disturbed = report.disturbed.expect("the experiment says when a trial is disturbed");
    assert!(disturbed.trials.is_empty(), "the host disturbed it: {:?}\n{run}", disturbed.trials);
    run.timeline().groups.into_values().flat_map(|group| group.findings.gaps).collect()
}

/// How far a duration lies outside of what was stated.
fn beyond(stated: Interval, uncertainty: Duration, truth: Planted) -> Duration {
    let shortest = truth.woken.0.since(truth.stopped.1);
    let longest = truth.woken.1.since(truth.stopped.0);
    let (least, most) =
        (stated.length().saturating_sub(uncertainty), stated.length() + uncertainty);
    least.saturating_sub(longest).max(shortest.saturating_sub(most))
}

/// Both ends and the length of each gap are as far from the truth as is stated, at most.
fn is_within_its_stated_uncertainty(gap: &Finding, truth: Planted) {
    let (span, u) = (gap.span, gap.uncertainty);
    let text = || format!("stated {span:?} within {u:?}, and in truth {truth:?}");
    assert!(span.from <= truth.stopped.1, "it began before: {}", text());
    assert!(truth.stopped.0 <= span.from + u, "it began after: {}", text());
    assert!(truth.woken.0 <= span.until, "it ended after: {}", text());
    assert!(span.until.since(truth.woken.1) <= u, "it ended before: {}", text());
    assert_eq!(beyond(span, u, truth), Duration::ZERO, "{}", text());
}

/// Each gap that was planted is found, no other is, and what is known of them is known well.
fn are_found(plant: impl Fn() -> (Finished, Vec<Planted>)) {
    let _turn = turn();
    await_quiet(NOISE_MAX);
    let is_disturbed = |(run, _): &(Finished, _)| run.is_disturbed();
    let played = undisturbed(plant, is_disturbed, |(run, _)| run.to_string());
    let Some((run, planted)) = played else { return };
    let all = found(&run);
    let lies = |gap: &&Finding, truth: &Planted| {
        gap.span.touches(Interval::new(truth.stopped.0, truth.woken.1))
    };
    let found: Vec<_> =
        planted.iter().filter_map(|truth| all.iter().find(|gap| lies(gap, truth))).collect();
    let details = || format!("{all:#?}\n{planted:#?}\n{run}");
    assert_eq!(found.len(), planted.len(), "planted, and not found: {}", details());
    assert_eq!(all.len(), planted.len(), "found, and not planted: {}", details());
    for (gap, truth) in found.iter().zip(&planted) {
        is_within_its_stated_uncertainty(gap, *truth);
    }
    let mut known: Vec<_> = found.iter().map(|gap| gap.uncertainty).collect();
    known.sort_unstable();
    let median = known[known.len() / 2];
    eprintln!("median {median:?} of {known:?}");
    assert!(median <= KNOWN, "gaps are known within {median:?} at the median, not {KNOWN:?}");
}

#[test]
fn planted_gaps_are_found_where_they_are() {
    are_found(from_outside);
}

#[test]
fn gaps_that_an_experiment_plants_are_found_where_they_are() {
    are_found(by_experiment);
}

/// The test's own eye works: it sees a sleeper stop, and not before.
#[test]
fn a_stop_is_seen() {
    let _turn = shared_turn();
    let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let pid = sleeper.id();
    let began = Mono::now();
    assert!(!is_stopped(pid));
    signal_pid(pid, Signal::STOP);
    let (_, seen) = watch(pid, began, true);
    assert!(seen > began);
    sleeper.kill().unwrap();
    eventually("its end", Duration::from_secs(60), || sleeper.try_wait().unwrap());
}
