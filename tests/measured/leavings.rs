//! All of a run is gone within five seconds, however it ends.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rustix::process::Signal;
use support::experiment::signal_pid;
use support::leftovers::{GONE, family_in_trial, gone_after_a_kill, pausing};
use support::measured::shared_turn;
use tandem::observation::{Fact, RunEvent, What};
use tandem::time::Mono;

fn is_in_force(fact: &Fact) -> bool {
    matches!(fact.what, What::Run(RunEvent::FaultInForce { .. }))
}

#[test]
fn a_signal_ends_all_of_a_run_in_time() {
    let _turn = shared_turn();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let run = pausing();
        let family = family_in_trial(&run);
        run.await_facts("a pause", |facts| facts.iter().any(is_in_force).then_some(()));
        let asked = Mono::now();
        run.signal(signal);
        let run = run.finish();
        family.is_gone_since(asked, &[]);
        assert_eq!(run.code(), Some(130), "{run}");
    }
}

#[test]
fn a_controller_that_is_killed_at_any_instant_leaves_nothing_after_some_seconds() {
    let _turn = shared_turn();
    let seed: u64 = 0x5EED_0102;
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

/// A run that cannot continue without this process asks its members to leave, and its brokers to
/// end, before it kills them.
#[test]
fn a_run_without_its_broker_or_its_guard_is_gone_in_time() {
    let _turn = shared_turn();
    for what in ["broker", "guard"] {
        let run = pausing();
        let family = family_in_trial(&run);
        run.await_facts("a pause", |facts| facts.iter().any(is_in_force).then_some(()));
        let asked = Mono::now();
        signal_pid(family.doing(what)[0], Signal::KILL);
        let run = run.finish();
        let took = family.gone_after(asked, &[]);
        let most = GONE + Duration::from_secs(5) + family.stalled_since(asked);
        assert!(took < most, "it took {took:?}, of at most {most:?}\n{run}");
    }
}
