//! Nothing of a command outlives the claim: not one that ignores SIGTERM, not one that forks and
//! detaches, and not when `tandem hold` or its keeper is stopped or killed. How soon, on a quiet
//! host: `tests/measured/hold/ends.rs`.

use rustix::process::Signal;
use support::experiment::{eventually, signal_pid};
use support::held::{PATIENT, SOON, Stage, gone, written};
use tandem::guard::Identity;

/// Ignores SIGTERM, and leaves a process behind that ignores it, in a session of its own.
pub(super) const STUBBORN: &str = "trap '' TERM; \
     setsid sh -c 'echo $$ > detached; while :; do sleep 0.02; done' & wait; \
     while :; do sleep 0.02; done";
/// The same, where nothing in the environment of what it leaves behind says whose it is.
pub(super) const UNMARKED: &str = "trap '' TERM; \
     setsid env -i sh -c 'echo $$ > detached; while :; do sleep 0.02; done' & wait; \
     while :; do sleep 0.02; done";
/// A member that is cut off keeps its claim for five seconds, and its session for longer.
const CUT: &str = "mode: exclusive, session: 30s, heartbeat: 300ms, threshold: 5s, hold: 5s";
/// No session ends here.
const STOPPED: &str = "mode: exclusive, session: 10m, heartbeat: 300ms, hold: 5s, on_death: leave";
/// Who has killed the command: its keeper; or, on a host that held that up, the process beside it.
const KILLED: [&str; 3] = [
    "the command was killed: signal 9",
    "the keeper did not end the command; it is killed now",
    "the command ended late, ",
];

/// A command that runs, and what it has detached.
fn both(stage: &Stage) -> [Identity; 2] {
    [stage.runs("a", None), written(&stage.path("detached"))]
}

#[test]
fn a_stubborn_command_and_what_it_detached_are_killed_when_its_member_is_cut_off() {
    let stage = Stage::new(CUT);
    let _one = stage.hold_alone("a", STUBBORN);
    let all = both(&stage);
    signal_pid(stage.broker.pid(), Signal::STOP);
    for one in all {
        gone(one);
    }
    eventually("the word", SOON, || {
        let said = stage.said("a.err");
        KILLED.iter().any(|word| said.contains(word)).then_some(())
    });
    signal_pid(stage.broker.pid(), Signal::CONT);
    stage.was_alone();
}

#[test]
fn the_keeper_of_a_stopped_wrapper_ends_its_command_and_does_not_leave_for_it() {
    let stage = Stage::new(STOPPED);
    let one = stage.hold_alone("a", STUBBORN);
    let all = both(&stage);
    one.signal(Signal::STOP);
    // The keeper alone ends the command, by the last promise that it received.
    for one in all {
        gone(one);
    }
    one.signal(Signal::CONT);
    eventually("the word", SOON, || {
        stage.said("a.err").contains("the command was killed").then_some(())
    });
    // By the same keeper: one that leaves ends after that.
    stage.runs("a", Some(all[0]));
    let said = stage.said("a.err");
    assert!(!said.contains("The keeper left the group for the dead"), "{said}");
    stage.was_alone();
}

/// A file of the kernel has the bytes of that name, which are no text; a group has no member of it,
/// once that has detached itself.
#[test]
fn a_command_and_what_it_detached_end_with_any_bytes_in_their_names() {
    let stage = Stage::new(STOPPED).without_cgroups();
    let shell = stage.oddly_named_shell();
    let body = "trap '' TERM; \
        setsid \"$0\" -c 'echo $$ > detached; while :; do sleep 0.02; done' & wait; \
        while :; do sleep 0.02; done";
    let one = stage.hold_alone_by(&shell, "a", body);
    let all = both(&stage);
    for one in all {
        let name = std::fs::read(format!("/proc/{}/comm", one.pid)).unwrap();
        assert!(std::str::from_utf8(&name).is_err(), "{name:?}");
    }
    one.signal(Signal::STOP);
    for one in all {
        gone(one);
    }
    one.signal(Signal::CONT);
    stage.runs("a", Some(all[0]));
    stage.was_alone();
}

#[test]
fn a_killed_keeper_takes_the_command_with_it_and_another_follows() {
    let stage = Stage::new(PATIENT);
    let one = stage.hold_alone("a", STUBBORN);
    let all = both(&stage);
    signal_pid(one.keeper().pid, Signal::KILL);
    for one in all {
        gone(one);
    }
    stage.runs("a", Some(all[0]));
    let output = stage.said("a.err");
    assert!(
        output.contains("the keeper of the command died; all that it kept is killed"),
        "{output}"
    );
    stage.was_alone();
}

#[test]
fn what_an_earlier_life_left_is_ended_before_the_next_one_joins() {
    let stage = Stage::new(PATIENT);
    ends_what_is_left(&stage, UNMARKED);
    let said = stage.said("a.err");
    assert!(said.contains("its command runs in the cgroup /"), "{said}");
}

#[test]
fn without_a_cgroup_the_environment_marks_what_an_earlier_life_left() {
    let stage = Stage::new(PATIENT).without_cgroups();
    ends_what_is_left(&stage, STUBBORN);
    let said = stage.said("a.err");
    let why = "its command has no cgroup of its own, and is found by its parents and its \
               environment: ";
    assert!(said.contains(why) && said.contains("Read-only file system"), "{said}");
}

fn ends_what_is_left(stage: &Stage, body: &str) {
    let first = stage.hold_alone("a", body);
    let [command, detached] = both(stage);
    let (wrapper, keeper) = (Identity::of(first.pid()).unwrap(), first.keeper());
    // Both at once: no process is left to end what was detached.
    signal_pid(keeper.pid, Signal::STOP);
    first.signal(Signal::KILL);
    signal_pid(keeper.pid, Signal::KILL);
    for one in [wrapper, keeper, command] {
        gone(one);
    }
    assert!(detached.lives(), "it was to be left behind");
    let _again = stage.hold_alone("a", body);
    eventually("the next life", SOON, || {
        stage.said("a.err").contains("waits to lead r").then_some(())
    });
    assert!(!detached.lives(), "the next life has joined beside it");
    stage.was_alone();
}

/// A process that is not there any more when its descendant is listed.
#[test]
fn a_command_that_forks_on_and_on_is_killed_at_one_blow() {
    let stage = Stage::new(PATIENT);
    std::fs::write(stage.path("hop.sh"), "echo $$ > hop\nsetsid sh ./hop.sh &\n").unwrap();
    let one = stage.hold_alone("a", "sh ./hop.sh; while :; do sleep 0.02; done");
    let command = stage.runs("a", None);
    let hop = || stage.said("hop");
    let first = eventually("a hop", SOON, || Some(hop()).filter(|hop| !hop.is_empty()));
    eventually("another", SOON, || (hop() != first).then_some(()));
    let cgroup = stage.cgroup("a");
    assert!(cgroup.is_dir());
    one.signal(Signal::KILL);
    gone(command);
    // The keeper removes it once it is empty.
    eventually("the end of the cgroup", SOON, || (!cgroup.exists()).then_some(()));
    stage.was_alone();
}
