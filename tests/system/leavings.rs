//! However a run ends, nothing of it is left behind, and its journal can be read.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly"
)]

use std::fs;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rustix::process::Signal;
use support::experiment::{Experiment, Running, signal_pid};
use support::leftovers::{
    GONE, claimless, family_in_trial, gone_after_a_kill, is_readable, pausing,
};
use tandem::observation::{Outcome, RunEvent, What};
use tandem::time::Mono;
use tandem::verdict::Verdict;

/// Waits until a member of the run is stopped.
fn in_force(run: &Running) {
    run.await_facts("a pause", |facts| {
        facts
            .iter()
            .any(|fact| matches!(fact.what, What::Run(RunEvent::FaultInForce { .. })))
            .then_some(())
    });
}

/// Ends a run by a signal while a member is stopped.
fn ends_by(signal: Signal) {
    let run = pausing();
    let family = family_in_trial(&run);
    in_force(&run);
    let asked = Mono::now();
    run.signal(signal);
    let run = run.finish();
    family.is_gone_since(asked, &[]);
    assert_eq!(run.code(), Some(130), "{run}");
    assert_eq!(run.report().outcome, Some(Outcome::Interrupted), "{run}");
    is_readable(&run, &[130]);
}

#[test]
fn an_interrupt_ends_a_run_in_peace() {
    ends_by(Signal::INT);
}

#[test]
fn a_request_to_terminate_ends_a_run_in_peace() {
    ends_by(Signal::TERM);
}

#[test]
fn a_closed_terminal_ends_a_run_in_peace() {
    ends_by(Signal::HUP);
}

#[test]
fn a_second_interrupt_ends_it_at_once() {
    let run = pausing();
    let family = family_in_trial(&run);
    in_force(&run);
    let asked = Mono::now();
    run.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(20));
    // The first may have done its work already.
    if support::leftovers::see(run.pid()).is_some() {
        run.signal(Signal::INT);
    }
    let run = run.finish();
    family.is_gone_since(asked, &[]);
    assert_eq!(run.code(), Some(130), "{run}");
    // The first may have come to its end before the second.
    let ended = run
        .recording()
        .facts
        .iter()
        .any(|fact| matches!(fact.what, What::Run(RunEvent::Ended { .. })));
    is_readable(&run, &[if ended { 130 } else { 4 }]);
}

#[test]
fn a_controller_that_is_killed_at_any_instant_leaves_nothing() {
    let seed = Mono::now().0;
    let mut chance = rand_chacha::ChaCha12Rng::seed_from_u64(seed);
    for number in 0..3 {
        // From before the members start to the second trial.
        let wait = Duration::from_millis(chance.random_range(0..9_000));
        eprintln!("instant {number}: {wait:?} (seed {seed})");
        let (took, stalled) = gone_after_a_kill(wait);
        let shown = format!("nothing was left {took:?} after the signal, stalled for {stalled:?}");
        eprintln!("{shown}");
        assert!(took <= GONE + stalled, "late: {shown}");
    }
}

/// Kills processes that a run cannot continue without.
fn is_unknown_without(what: &str) {
    let run = pausing();
    let family = family_in_trial(&run);
    in_force(&run);
    let asked = Mono::now();
    signal_pid(family.doing(what)[0], Signal::KILL);
    let run = run.finish();
    // Members are asked to leave, and brokers to end, before they are killed.
    let took = family.gone_after(asked, &[]);
    let most = GONE + Duration::from_secs(5) + family.stalled_since(asked);
    assert!(took < most, "it took {took:?}, of at most {most:?}\n{run}");
    assert_eq!(run.code(), Some(4), "{run}");
    let report = run.report();
    assert_eq!((report.verdict, report.outcome), (Verdict::Unknown, Some(Outcome::Broken)));
    assert!(report.reasons.iter().any(|why| why.contains(what)), "{run}");
    is_readable(&run, &[4]);
}

#[test]
fn a_broker_that_dies_makes_the_verdict_unknown() {
    is_unknown_without("broker");
}

#[test]
fn a_guard_that_dies_makes_the_verdict_unknown() {
    is_unknown_without("guard");
}

#[test]
fn a_folder_that_holds_something_is_refused() {
    let order = Experiment::calm("1s");
    fs::create_dir(order.out()).unwrap();
    fs::write(order.out().join("letter"), "dear").unwrap();
    let run = order.finish();
    assert_eq!(run.code(), Some(1), "{run}");
    assert!(run.stderr.contains("is not empty: name another folder with --out"), "{run}");
    assert_eq!(fs::read_dir(&run.out).unwrap().count(), 1, "nothing was written");
    assert_eq!(run.stdout, "", "{run}");
}

#[test]
fn a_folder_that_cannot_be_made_is_refused() {
    let order = Experiment::calm("1s");
    // Root may write anywhere, but not below a file.
    fs::write(order.out(), "a file").unwrap();
    let run = order.finish();
    assert_eq!(run.code(), Some(1), "{run}");
    assert!(run.stderr.contains("cannot write to"), "{run}");
}

#[test]
fn a_full_disk_makes_the_verdict_unknown() {
    // A file that may not grow looks to its writer like a disk that is full.
    // It has room for the start of a run on a busy host, and not for the four trials of this one.
    let order = claimless("fault: noop, for: 30s").after("trap '' XFSZ; ulimit -f 1500");
    let run = order.start();
    let family = family_in_trial(&run);
    let run = run.finish();
    family.is_gone();
    assert_eq!(run.code(), Some(4), "{run}");
    assert_eq!(run.report().verdict, Verdict::Unknown, "{run}");
    assert!(
        run.stderr.contains("cannot write to") && run.stderr.contains("journal.jsonl"),
        "{run}"
    );
    is_readable(&run, &[4]);
}
