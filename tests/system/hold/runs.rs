//! A command runs while its role is led, and learns what it leads.

use rustix::process::Signal;
use support::experiment::eventually;
use support::held::{PATIENT, SOON, Stage};

/// A command is asked once, though the host stops any process for two seconds, and has longer to
/// end.
const ASKED_ONCE: &str = "mode: exclusive, session: 30s, heartbeat: 300ms, hold: 12s";
/// The same in the other mode.
const PLAIN: &str = "session: 10s";

/// Says that it was asked to end.
const HEARS: &str = "trap 'echo asked >> asked; exit 0' TERM";
/// Runs until it is asked to end, and says so.
const OBEYS: &str = "trap 'echo asked >> asked; exit 0' TERM; while :; do sleep 0.02; done";

#[test]
fn a_command_learns_its_role_and_ends_in_order() {
    let stage = Stage::new(ASKED_ONCE);
    // It hears a request to end before it says that it runs.
    let body = format!("{HEARS}; env > environment; echo written; while :; do sleep 0.02; done");
    let one = stage.hold_alone("a", &body);
    stage.runs("a", None);
    let said = || stage.said("a.out").contains("written").then_some(());
    eventually("its output", SOON, said);
    let environment = stage.said("environment");
    for line in [
        "TANDEM_ROLE=r",
        "TANDEM_GROUP=p1",
        "TANDEM_TOPOLOGY=held",
        "TANDEM_NAME=a",
        "TANDEM_INCARNATION=1",
    ] {
        assert!(environment.lines().any(|one| one == line), "{line}: {environment}");
    }
    assert!(environment.lines().any(|one| one.starts_with("TANDEM_FENCE=")), "{environment}");
    one.signal(Signal::TERM);
    // Its process waits for a hold after that, as the next test shows.
    let output = eventually("the end of the command", SOON, || {
        Some(stage.said("a.err")).filter(|said| said.contains("the command was "))
    });
    assert!(output.contains("a in p1: leads; the command runs as process "), "{output}");
    assert!(output.contains("the command was stopped: exit status 0"), "{output}");
    assert_eq!(stage.said("asked"), "asked\n");
}

#[test]
fn the_next_member_takes_over_and_no_two_commands_run() {
    let stage = Stage::new(PATIENT);
    let mut first = stage.hold_alone("a", OBEYS);
    let one = stage.runs("a", None);
    // A joining member revokes all partitions; round robin gives the only one to the first again.
    let _second = stage.hold_alone("b", OBEYS);
    stage.runs("a", Some(one));
    stage.settled(2);
    first.signal(Signal::TERM);
    assert_eq!(first.ends().code(), Some(0));
    stage.runs("b", None);
    stage.was_alone();
}

#[test]
fn a_command_that_ends_by_itself_is_started_again_ever_later() {
    let stage = Stage::new(PLAIN);
    let mut one = stage.hold("a", &["sh", "-c", "echo x >> begun; exit 3"]);
    let begun = || (stage.said("begun").lines().count() >= 4).then_some(());
    eventually("four starts", SOON, begun);
    let output = stage.said("a.err");
    for line in ["ended by itself: exit status 3", "again in 100ms", "again in 200ms"] {
        assert!(output.contains(line), "{line}: {output}");
    }
    one.signal(Signal::TERM);
    assert_eq!(one.ends().code(), Some(0));
}

#[test]
fn what_a_command_leaves_behind_is_ended_before_it_is_started_again() {
    let stage = Stage::new(PLAIN).with_grace("200ms");
    let body = "setsid sh -c 'trap \"\" TERM; echo $$ > left; sleep 60' & \
                while ! [ -s left ]; do sleep 0.01; done; cp left left.$$; rm left";
    let mut one = stage.hold_alone("a", body);
    let output = || stage.said("a.err");
    eventually("two ends", SOON, || {
        (output().matches("was killed: exit status 0").count() > 1).then_some(())
    });
    // It ended by itself, both times.
    eventually("the second wait", SOON, || {
        output().contains("it starts again in 200ms").then_some(())
    });
    stage.was_alone();
    one.signal(Signal::TERM);
    assert_eq!(one.ends().code(), Some(0));
}

#[test]
fn with_leave_the_end_of_the_command_is_that_of_the_member() {
    let stage = Stage::new(PLAIN);
    for (body, code) in [("exit 3", 3), ("kill -9 $$", 137), ("exit 0", 0)] {
        let mut command =
            stage.command("a", &["--role", "r", "--on-exit", "leave"], &["sh", "-c", body]);
        assert_eq!(command.status().unwrap().code(), Some(code), "{body}");
    }
    assert_eq!(stage.said("state/tandem/hold/held.p1.a"), "3\n", "each is a life of its own");
}
