//! Faults are always undone when any process of a run is killed or stopped at any time: by the
//! guard, by the controller, by `tandem halt`, or by the next run.

use std::fs;
use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use rustix::process::Signal;
use support::experiment::{Experiment, Finished, Running, output, signal_pid, tandem};
use support::leftovers::{Family, family_in_trial, see};
use support::quiet::undisturbed;
use support::undone::{Blow, Embedded, Planted, Since, Stage, idle, says, undone_after};
use tandem::observation::{Fact, Outcome, RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::Cause;

/// The same blow at five random instants: three while everything is disturbed, the embedded broker
/// being killed, ended or paused; two that may lie before that.
fn at_random_instants(blow: Blow) {
    let seed = Mono::now().0;
    eprintln!("seed {seed}");
    let late = Embedded::ALL.map(|embedded| (embedded, Since::AllFaults));
    let early = [Embedded::Killed, Embedded::Paused].map(|it| (it, Since::FirstBroker));
    // Each waits most of its time, in a state directory of its own.
    std::thread::scope(|scope| {
        for (lane, instants) in (0..).zip([&late[..], &early]) {
            scope.spawn(move || {
                let mut chance = ChaCha12Rng::seed_from_u64(seed + lane);
                for (embedded, since) in instants {
                    let undone = undone_after(blow, *embedded, *since, &mut chance);
                    assert!(undone.in_time_beside_others(), "{undone:?}");
                }
            });
        }
    });
}

#[test]
fn a_controller_that_is_killed_is_undone_by_its_guard() {
    at_random_instants(Blow::ControllerKilled);
}

#[test]
fn a_controller_that_is_stopped_is_undone_by_its_guard() {
    at_random_instants(Blow::ControllerStopped);
}

#[test]
fn a_guard_that_is_killed_has_its_controller_undo_everything() {
    at_random_instants(Blow::GuardKilled);
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

/// Stops a run for a second, twice: how long the longest stop was, whether the run and its faults
/// went on, and how it ended.
fn stopped_twice() -> (Duration, bool, Finished) {
    let stage = Stage::set();
    let (run, _) = stage.under_way();
    let mut longest = Duration::ZERO;
    for _ in 0..2 {
        let stopped = Mono::now();
        run.signal(Signal::STOP);
        std::thread::sleep(Duration::from_secs(1));
        run.signal(Signal::CONT);
        longest = longest.max(Mono::now().since(stopped));
        std::thread::sleep(Duration::from_secs(1));
    }
    let goes_on = see(run.pid()).is_some_and(|one| !one.has_ended()) && !stage.is_served();
    run.signal(Signal::INT);
    (longest, goes_on, run.finish())
}

#[test]
fn a_stop_of_a_second_is_no_end() {
    // A guard gives up a process that is stopped for three.
    let is_long = |it: &(Duration, bool, Finished)| it.0 > Duration::from_secs(2);
    let shown = |it: &(Duration, bool, Finished)| format!("stopped for {:?}\n{}", it.0, it.2);
    let Some((_, goes_on, run)) = undisturbed(stopped_twice, is_long, shown) else { return };
    assert!(goes_on, "the run, or a fault of it, did not go on: {run}");
    assert_eq!(run.report().outcome, Some(Outcome::Interrupted), "{run}");
}

#[test]
fn a_stop_in_which_a_heal_misses_its_time_is_healed_all_the_same() {
    let stage = Stage::set();
    // The restart is awaited for two seconds, and five more.
    let kill = "{id: k, fault: kill, target: {group: p1, mode: one}, restart_after: 2s}";
    let run = stage.experiment(&[kill]).start();
    let family = family_in_trial(&run);
    let dead = |fact: &Fact| matches!(fact.what, What::Run(RunEvent::FaultInForce { .. }));
    run.await_facts("a death", |facts| facts.iter().any(dead).then_some(()));
    let stopped = Mono::now();
    run.signal(Signal::STOP);
    std::thread::sleep(Duration::from_secs(8));
    assert_eq!(family.left().len(), 1, "the controller alone: {:?}", family.left());
    run.signal(Signal::CONT);
    let run = run.finish();
    let most = Mono::now().since(stopped) + Duration::from_secs(3);
    family.is_gone();
    says(&run, "the guard ended this run, because this process did not run for ");
    let report = run.report();
    // Its guard has heard of it before it was stopped, and not yet given it up.
    let idle = idle(&report.reasons[0]);
    assert!(idle >= Duration::from_secs(8) && idle <= most, "{idle:?} of {most:?}: {run}");
    // A host that held up a member before may have left a gap then.
    let timeline = run.timeline();
    let of_groups = timeline.groups.values().flat_map(|line| &line.findings.gaps);
    let of_groups = of_groups.filter(|gap| gap.cause == Cause::Nothing);
    let seen: Vec<_> = timeline.joint.gaps.iter().chain(of_groups).collect();
    let since = seen.iter().filter(|gap| gap.span.until > stopped).count();
    assert_eq!(since, 0, "no observer was there to see any: {seen:?}\n{run}");
    assert_eq!(run.code(), Some(4), "{run}");
    assert!(report.unknown_ms > 8_000.0, "{run}");
    assert!(stage.ledgers().is_empty(), "{run}");
}

/// Halts a run while its starter waits for it.
fn halts(stage: &Stage, run: Running, family: &Family, ends: &[i32]) {
    let pid = run.pid();
    let (run, (code, said)) = std::thread::scope(|scope| {
        let halted = scope.spawn(|| stage.halt(&[]));
        (run.finish(), halted.join().unwrap())
    });
    assert_eq!(code, Some(0), "{said}\n{run}");
    assert!(said.contains(&format!("controller {pid} ended when asked")), "{said}");
    assert!(run.code().is_some_and(|code| ends.contains(&code)), "{run}");
    if run.code() == Some(4) {
        says(&run, "the guard ended this run, because this process did not run for ");
    }
    family.is_gone();
    stage.is_healed();
    assert!(stage.ledgers().is_empty(), "{said}");
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
}

#[test]
fn a_run_that_was_just_stopped_is_halted() {
    let stage = Stage::set();
    let (run, family) = stage.under_way();
    run.signal(Signal::STOP);
    halts(&stage, run, &family, &[130]);
}

#[test]
fn a_run_that_was_stopped_for_long_is_halted() {
    let stage = Stage::set();
    let (run, family) = stage.under_way();
    let stopped = Mono::now();
    run.signal(Signal::STOP);
    family.is_gone_since(stopped, &[run.pid()]);
    stage.is_healed_since(stopped);
    // It wakes to both, and what it learns first is why it ends: unguarded, or interrupted.
    halts(&stage, run, &family, &[4, 130]);
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
    assert_eq!(next.code(), Some(0), "{next}");
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

const IDLE: &str = "version: 1\nname: idle\nobjective: {leaders_per_group: 0}\n\
                    method: [{fault: noop, for: 5m}]\n";
const SHORT: &str = "version: 1\nname: short\nobjective: {leaders_per_group: 0}\n\
                     method: [{fault: noop, for: 100ms}]\n";

#[test]
fn a_heal_that_fails_keeps_no_other_from_healing_and_is_exit_6() {
    let stage = Stage::with(|_| vec!["/nonexistent/kafka".to_owned()]);
    let pause = "{id: p, fault: pause, for: 4s, target: {group: p1, mode: one}}";
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
