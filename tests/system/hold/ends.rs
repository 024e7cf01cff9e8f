//! Nothing of a command outlives the claim: not one that ignores SIGTERM, not one that forks and
//! detaches, and not when `tandem hold` or its keeper is stopped or killed.

use rustix::process::Signal;
use support::experiment::{eventually, signal_pid};
use support::held::{SOON, Stage, again, gone, written};
use tandem::time::Mono;

/// Ignores SIGTERM, and leaves a process behind that ignores it, in a session of its own.
const STUBBORN: &str = "trap '' TERM; setsid sh -c 'echo $$ > detached; while :; do sleep 0.02; \
                        done' & wait; while :; do sleep 0.02; done";
/// What a claim lasts at most after the brokers are gone: four fifths of a session.
const THRESHOLD_MS: u64 = 2_400;

#[test]
fn a_stubborn_command_and_what_it_detached_are_gone_before_the_claim_ends() {
    let stage = Stage::exclusive();
    let _one = stage.hold_alone("a", STUBBORN);
    let (command, detached) = (stage.runs("a", None), written(&stage.path("detached")));
    // No proof is later than this instant, and so no claim ends later than a threshold after it.
    signal_pid(stage.broker.pid(), Signal::STOP);
    let cut = Mono::now();
    let last = gone(command).max(gone(detached));
    let took = last.since(cut).as_millis();
    assert!(took < u128::from(THRESHOLD_MS), "{took} ms, and the claim lasts {THRESHOLD_MS}");
    eventually("the word", SOON, || {
        stage.said("a.err").contains("the command was killed: signal 9").then_some(())
    });
    signal_pid(stage.broker.pid(), Signal::CONT);
    stage.runs("a", Some(command));
    stage.was_alone();
}

#[test]
fn a_killed_wrapper_leaves_nothing_behind_and_its_successor_finds_nothing() {
    let stage = Stage::exclusive();
    let first = stage.hold_alone("a", STUBBORN);
    let (command, detached) = (stage.runs("a", None), written(&stage.path("detached")));
    let _second = stage.hold_alone("b", "while :; do sleep 0.02; done");
    // A joining member revokes all partitions; round robin gives the only one to the first again.
    gone(command);
    gone(detached);
    let (command, detached) =
        (stage.runs("a", Some(command)), again(&stage.path("detached"), detached));
    let keeper = first.keeper();
    first.signal(Signal::KILL);
    for one in [command, detached, keeper] {
        gone(one);
    }
    stage.runs("b", None);
    stage.was_alone();
}

#[test]
fn a_stopped_wrapper_holds_nothing_up() {
    let stage = Stage::exclusive();
    let first = stage.hold_alone("a", STUBBORN);
    let (command, detached) = (stage.runs("a", None), written(&stage.path("detached")));
    first.signal(Signal::STOP);
    let stopped = Mono::now();
    // The keeper alone ends the command, by the last promise that it received.
    let last = gone(command).max(gone(detached));
    let took = last.since(stopped).as_millis();
    assert!(took < u128::from(THRESHOLD_MS), "{took} ms");
    let _second = stage.hold_alone("b", "while :; do sleep 0.02; done");
    stage.runs("b", None);
    first.signal(Signal::CONT);
    eventually("the word", SOON, || {
        stage.said("a.err").contains("the command was killed").then_some(())
    });
    stage.was_alone();
}

#[test]
fn a_killed_keeper_takes_the_command_with_it_and_another_follows() {
    let stage = Stage::exclusive();
    let one = stage.hold_alone("a", STUBBORN);
    let (command, detached) = (stage.runs("a", None), written(&stage.path("detached")));
    signal_pid(one.keeper().pid, Signal::KILL);
    gone(command);
    gone(detached);
    stage.runs("a", Some(command));
    let output = stage.said("a.err");
    assert!(
        output.contains("the keeper of the command died; all that it kept is killed"),
        "{output}"
    );
    stage.was_alone();
}

#[test]
fn what_an_earlier_life_left_is_ended_before_the_next_one_joins() {
    let stage = Stage::exclusive();
    let first = stage.hold_alone("a", STUBBORN);
    let (command, detached) = (stage.runs("a", None), written(&stage.path("detached")));
    let keeper = first.keeper();
    // Both at once: no process is left to end what was detached.
    signal_pid(keeper.pid, Signal::STOP);
    first.signal(Signal::KILL);
    signal_pid(keeper.pid, Signal::KILL);
    gone(command);
    assert!(detached.lives(), "it was to be left behind");
    let _again = stage.hold_alone("a", STUBBORN);
    stage.runs("a", Some(command));
    assert!(!detached.lives());
    stage.was_alone();
}
