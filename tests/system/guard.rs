//! Faults are always undone when any process of a run is killed or stopped: by the guard, by the
//! controller, by `tandem halt`, or by the next run. That this is in time, and that a stop of a
//! second is no end, on a quiet host: `tests/measured/guard.rs`.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Experiment, eventually, output, signal_pid, tandem};
use support::halted::halts;
use support::in_ledger::Planted;
use support::leftovers::{Family, family_in_trial, is_readable, see};
use support::undone::{Blow, Embedded, IDLES, Stage, no_member_started_after, says};
use tandem::observation::{Fact, Outcome, RunEvent, What};
use tandem::time::Mono;
use tandem::verdict::Verdict;

const SOON: Duration = Duration::from_secs(60);

/// The same blow while everything is disturbed; the embedded broker is killed, ended or paused.
fn is_undone_after(blow: Blow, embedded: Embedded) {
    let stage = Stage::set();
    let (run, family) = stage.under_way_with(embedded);
    match blow {
        Blow::ControllerKilled => {
            run.signal(Signal::KILL);
            family.is_gone();
            stage.is_healed();
            assert_eq!(run.finish().code(), None);
        }
        Blow::ControllerStopped => {
            run.signal(Signal::STOP);
            family.is_gone_but(&[run.pid()]);
            stage.is_healed();
            let woken = Mono::now(); // clock: what is noted after it, the run did when it woke
            run.signal(Signal::CONT);
            let run = run.finish();
            family.is_gone();
            says(&run, IDLES);
            no_member_started_after(&run.recording().facts, woken, &run);
            // No observer was there to see any gap.
            let timeline = run.timeline();
            let of_groups = timeline.groups.values().flat_map(|line| &line.findings.gaps);
            let seen = timeline.joint.gaps.iter().chain(of_groups);
            let since: Vec<_> = seen.filter(|gap| gap.span.until > woken).collect();
            assert!(since.is_empty(), "{since:?}\n{run}");
            assert!(run.report().unknown_ms > 0.0, "{run}");
        }
        Blow::GuardKilled => {
            signal_pid(family.doing("guard")[0], Signal::KILL);
            let run = run.finish();
            family.is_gone();
            stage.is_healed();
            says(&run, "the guard died, and nothing may run without it");
            let report = run.report();
            assert_eq!((report.verdict, report.outcome), (Verdict::Unknown, Some(Outcome::Broken)));
            is_readable(&run, &[4]);
        }
    }
    assert!(stage.is_served(), "it stays so");
    eventually("the end of the ledger", SOON, || stage.ledgers().is_empty().then_some(()));
}

#[test]
fn a_controller_that_is_killed_is_undone_by_its_guard() {
    is_undone_after(Blow::ControllerKilled, Embedded::Paused);
}

#[test]
fn a_controller_that_is_stopped_is_undone_by_its_guard() {
    is_undone_after(Blow::ControllerStopped, Embedded::Killed);
}

#[test]
fn a_guard_that_is_killed_has_its_controller_undo_everything() {
    is_undone_after(Blow::GuardKilled, Embedded::Ended);
}

#[test]
fn a_stopped_guard_does_not_count() {
    let stage = Stage::set();
    let (run, family) = stage.under_way();
    signal_pid(family.doing("guard")[0], Signal::STOP);
    let run = run.finish();
    family.is_gone();
    stage.is_healed();
    says(&run, "the guard did not answer for 5s, and nothing may run without it");
    assert!(stage.ledgers().is_empty(), "the controller healed in its stead");
}

fn nothing_is_halted(stage: &Stage) {
    let again = stage.halt(&[]);
    assert_eq!(again, (Some(0), "nothing is left to halt\n".to_owned()));
}

#[test]
fn a_live_run_is_halted() {
    let stage = Stage::set();
    let (run, family) = stage.under_way();
    let of_another = stage.halt(&["-f", "topologies/trio.yaml"]);
    assert_eq!(of_another, (Some(0), "nothing of trio is left to halt\n".to_owned()));
    let lives = see(run.pid()).is_some_and(|one| !one.has_ended());
    assert!(lives && !stage.is_served(), "that was none of its business");
    halts(&stage, run, &family, &[130]);
    nothing_is_halted(&stage);
}

#[test]
fn a_run_that_was_just_stopped_is_halted() {
    let stage = Stage::set();
    let (run, family) = stage.under_way();
    run.signal(Signal::STOP);
    // A busy host may begin to halt it only when its guard has given it up.
    halts(&stage, run, &family, &[4, 130]);
    nothing_is_halted(&stage);
}

/// Kills controller and guard at once. A broker that is down remains, and processes that do not end
/// by themselves.
fn orphaned(stage: &Stage) -> (Family, Planted) {
    let (run, family) = stage.under_way();
    let own = format!("-{}.jsonl", run.pid());
    // Or it would begin to heal where the host holds this process up in between.
    run.signal(Signal::STOP);
    signal_pid(family.doing("guard")[0], Signal::KILL);
    run.signal(Signal::KILL);
    assert_eq!(run.finish().code(), None);
    assert!(!stage.is_served(), "no process started the broker");
    let ledgers = stage.ledgers();
    let ledger = ledgers.iter().find(|path| path.display().to_string().ends_with(&own)).unwrap();
    (family, Planted::into(ledger))
}

#[test]
fn the_remains_of_a_killed_run_are_halted() {
    let stage = Stage::set();
    let (family, mut planted) = orphaned(&stage);
    let (code, said) = stage.halt(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!("process {} was killed", planted.held.id())), "{said}");
    assert!(said.contains("/tandem/kafka/broker was started"), "{said}");
    planted.is_ended();
    family.is_gone();
    stage.is_healed();
    assert!(stage.ledgers().is_empty(), "{said}");
}

#[test]
fn the_remains_of_a_killed_run_are_healed_by_the_next_run() {
    let stage = Stage::set();
    // It is alive, and to be left alone.
    let other = Experiment::of("idle.yaml", IDLE).in_state(stage.state()).start();
    let others = family_in_trial(&other);
    let (family, mut planted) = orphaned(&stage);
    let next = Experiment::of("short.yaml", SHORT).in_state(stage.state()).finish();
    let healed: Vec<_> =
        next.stderr.lines().filter(|line| line.starts_with("undid what ")).collect();
    assert_eq!(healed.len(), 1, "{next}");
    assert!(healed[0].contains("disturbed-") && healed[0].ends_with("started 1 broker"), "{next}");
    next.sound();
    planted.is_ended();
    family.is_gone();
    stage.is_healed();
    assert_eq!(stage.ledgers().len(), 1, "the other's");
    let guard = see(others.doing("guard")[0]).is_some_and(|one| !one.has_ended());
    assert!(guard && others.doing("member").len() == 6);
    other.signal(Signal::INT);
    assert_eq!(other.finish().code(), Some(130));
    others.is_gone();
    assert!(stage.ledgers().is_empty());
}

const IDLE: &str = "version: 1\nname: idle\nrecover: {within: 2m}\n\
                    objective: {leaders_per_group: 0}\n\
                    method: [{fault: noop, for: 5m}]\n";
const SHORT: &str = "version: 1\nname: short\nrecover: {within: 2m}\n\
                     objective: {leaders_per_group: 0}\n\
                     method: [{fault: noop, for: 100ms}]\n";

#[test]
fn a_heal_that_fails_keeps_no_other_from_healing_and_is_exit_6() {
    let stage = Stage::with(|_| vec!["/nonexistent/kafka".to_owned()]);
    let pause = "{id: p, fault: pause, for: 2s, target: {group: p1, mode: one}}";
    let broker = "{id: b, at: 500ms, fault: broker, target: {coordinator_of: p2}, \
                  restart_after: 1s}";
    let run = stage.experiment(&[pause, broker]).start();
    let family = family_in_trial(&run);
    let run = run.finish();
    assert_eq!(run.code(), Some(6), "{run}");
    let reasons = run.report().reasons;
    assert!(reasons[0].contains("could not be healed"), "{reasons:#?}\n{run}");
    let healed = |fact: &Fact| match &fact.what {
        What::Run(RunEvent::FaultHealed { fault }) => fault.step.as_str() == "p",
        _ => false,
    };
    assert!(run.recording().facts.iter().any(healed), "the one that is paused goes on: {run}");
    family.is_gone();
    // It is remembered, and tried again.
    assert_eq!(stage.ledgers().len(), 1, "{run}");
    let (code, said) = stage.halt(&[]);
    assert_eq!(code, Some(6), "{said}");
    assert!(said.contains("cannot be started"), "{said}");
    // Until its folder is gone, and with it the reason to run.
    fs::remove_dir_all(&stage.revival.folder).unwrap();
    let (code, said) = stage.halt(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(stage.ledgers().is_empty(), "{said}");
}

/// What `tandem doctor` says of a fault, and how it ends.
fn doctor(stage: &Stage, args: &[&str], fault: &str) -> (Option<i32>, String) {
    let done = output(tandem(stage.state()).arg("doctor").args(args));
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let (_, faults) = said.split_once("faults: ").unwrap();
    let about = format!("  {fault}: ");
    let line = faults.lines().find(|line| line.contains(&about)).unwrap_or_default();
    (done.status.code(), line.to_owned())
}

#[test]
fn a_doctor_says_which_faults_can_be_injected() {
    let stage = Stage::set();
    for fault in ["kill", "pause", "partition", "broker", "clock", "noop"] {
        let (code, line) = doctor(&stage, &[], fault);
        assert!(code == Some(0) && line.starts_with("ok "), "{code:?} {line}");
    }
    fs::remove_file(stage.state().join("tandem/kafka/clusters.json")).unwrap();
    let (code, line) = doctor(&stage, &[], "broker");
    assert!(code == Some(0) && line.contains("embedded brokers are the run's own"), "{line}");
    // An experiment that needs the guard cannot run without it; one that does not need it is not
    // warned.
    let needs = ["-x", "chaos/kill-coordinator.yaml"];
    let (code, line) = doctor(&stage, &needs, "broker");
    assert!(code == Some(1) && line.starts_with("fail"), "{code:?} {line}");
    assert!(line.contains("`deploy/kafka/up` starts some"), "{line}");
    let (code, line) = doctor(&stage, &["-x", "chaos/pause-leader.yaml"], "broker");
    assert_eq!((code, line.as_str()), (Some(0), ""));
}
