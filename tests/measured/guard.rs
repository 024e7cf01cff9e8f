//! Faults are undone in time when any process of a run is killed or stopped at any time: by the
//! guard, by the controller, or by `tandem halt`. A stop of a second is no end.

use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use rustix::process::Signal;
use support::experiment::Finished;
use support::halted::halts;
use support::leftovers::{family_in_trial, see};
use support::measured::{shared_turn, turn};
use support::quiet::undisturbed;
use support::undone::{Blow, Embedded, IDLES, Since, Stage, idle, says, undone_after};
use tandem::observation::{Fact, Outcome, RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::Cause;

/// The same blow at five random instants: three while everything is disturbed, the embedded broker
/// being killed, ended or paused; two that may lie before that.
fn at_random_instants(blow: Blow) {
    let _turn = shared_turn();
    let seed: u64 = 0x5EED_0101;
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

/// Stops a run for a second, twice: how long the longest stop was, whether the run and its faults
/// went on, and how it ended.
fn stopped_twice() -> (Duration, bool, Finished) {
    let _turn = turn();
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
    let _turn = shared_turn();
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
    says(&run, IDLES);
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

#[test]
fn a_run_that_was_stopped_for_long_is_halted() {
    let _turn = shared_turn();
    let stage = Stage::set();
    let (run, family) = stage.under_way();
    let stopped = Mono::now();
    run.signal(Signal::STOP);
    family.is_gone_since(stopped, &[run.pid()]);
    stage.is_healed_since(stopped);
    // It wakes to both, and what it learns first is why it ends: unguarded, or interrupted.
    halts(&stage, run, &family, &[4, 130]);
}
