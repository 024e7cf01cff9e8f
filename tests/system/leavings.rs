//! However a run ends, nothing of it is left behind, and its journal can be read. How soon that is
//! so, on a quiet host: `tests/measured/leavings.rs`.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Experiment, Running, signal_pid};
use support::leftovers::{
    Family, addresses, claimless, family_in_trial, gone_after_a_kill, is_readable, see,
};
use tandem::observation::{Outcome, RunEvent, What};
use tandem::verdict::Verdict;

/// A run that pauses a leader, until the test ends it.
fn long() -> Running {
    let target = "{leader_of: any, group: any}";
    claimless(&format!("at: 300ms, fault: pause, for: 5m, target: {target}")).start()
}

/// Waits until a member of the run is stopped; all of the run.
fn in_force(run: &Running) -> Family {
    let family = family_in_trial(run);
    run.await_facts("a pause", |facts| {
        facts
            .iter()
            .any(|fact| matches!(fact.what, What::Run(RunEvent::FaultInForce { .. })))
            .then_some(())
    });
    family
}

/// An interrupt, a request to terminate, and a closed terminal.
#[test]
fn a_signal_ends_a_run_in_peace() {
    let runs = [Signal::INT, Signal::TERM, Signal::HUP].map(|signal| (signal, long()));
    for (signal, run) in runs {
        let family = in_force(&run);
        run.signal(signal);
        let run = run.finish();
        family.is_gone();
        assert_eq!(run.code(), Some(130), "{signal:?}: {run}");
        assert_eq!(run.report().outcome, Some(Outcome::Interrupted), "{signal:?}: {run}");
        is_readable(&run, &[130]);
    }
}

#[test]
fn a_second_interrupt_ends_it_at_once() {
    let run = long();
    let family = in_force(&run);
    run.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(20)); // clock: the second one may come at any time
    // The first may have done its work already.
    if see(run.pid()).is_some() {
        run.signal(Signal::INT);
    }
    let run = run.finish();
    family.is_gone();
    assert_eq!(run.code(), Some(130), "{run}");
    // The first may have come to its end before the second.
    let ended = run
        .recording()
        .facts
        .iter()
        .any(|fact| matches!(fact.what, What::Run(RunEvent::Ended { .. })));
    is_readable(&run, &[if ended { 130 } else { 4 }]);
}

/// Before its members start, when they have just started, and in a trial.
#[test]
fn a_controller_that_is_killed_at_any_instant_leaves_nothing() {
    std::thread::scope(|scope| {
        for wait in [0, 300, 3_000] {
            scope.spawn(move || gone_after_a_kill(Duration::from_millis(wait)));
        }
    });
}

/// So does its guard: see `guard.rs`.
#[test]
fn a_broker_that_dies_makes_the_verdict_unknown() {
    let run = long();
    let family = in_force(&run);
    signal_pid(family.doing("broker")[0], Signal::KILL);
    let run = run.finish();
    family.is_gone();
    assert_eq!(run.code(), Some(4), "{run}");
    let report = run.report();
    assert_eq!((report.verdict, report.outcome), (Verdict::Unknown, Some(Outcome::Broken)));
    assert!(report.reasons.iter().any(|why| why.contains("broker")), "{run}");
    is_readable(&run, &[4]);
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
    // It has room for all else that a run writes, and for some seconds of this one.
    let order = claimless("fault: noop, for: 5m").after("trap '' XFSZ; ulimit -f 300");
    let run = order.start();
    run.await_facts("a broker", |facts| (!addresses(facts).is_empty()).then_some(()));
    let family = Family::of(&run);
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
