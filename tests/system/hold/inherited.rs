//! What `tandem hold` inherits from the process that starts it, and what that sends to it.

use rustix::process::Signal;
use support::experiment::{eventually, signal_pid};
use support::held::{Hold, PATIENT, SOON, Stage, ignores};
use tandem::guard::Identity;

/// Runs until a signal ends it.
const RUNS: &str = "while :; do sleep 0.02; done";

/// As under nohup(1).
#[test]
fn who_ignores_sighup_at_its_start_goes_on_without_its_terminal() {
    let stage = Stage::new(PATIENT).ignoring("HUP");
    let mut one = stage.hold_alone("a", RUNS);
    let command = stage.runs("a", None);
    for pid in [one.pid(), one.keeper().pid, command.pid] {
        assert!(ignores(pid, Signal::HUP), "{pid}");
        signal_pid(pid, Signal::HUP);
    }
    // What ends it takes its turn after that.
    assert!(one.keeper().lives() && command.lives());
    one.signal(Signal::TERM);
    assert_eq!(one.ends().code(), Some(0));
    let said = stage.said("a.err");
    assert!(!said.contains("ended by itself") && !said.contains("keeper of the command"), "{said}");
    stage.was_alone();
}

#[test]
fn how_a_command_ended_is_known_although_the_caller_ignores_its_children() {
    let stage = Stage::new(PATIENT).ignoring("CHLD");
    let leaves = ["--role", "r", "--on-exit", "leave"];
    let mut one = stage.hold_with("a", &leaves, &["sh", "-c", "exit 3"]);
    assert_eq!(one.ends().code(), Some(3), "{}", stage.said("a.err"));
}

/// A service manager sends SIGTERM to all processes of a unit.
#[test]
fn a_stop_of_all_processes_at_once_is_a_stop_and_no_failure() {
    for settings in [PATIENT, "session: 30s, heartbeat: 300ms"] {
        let stage = Stage::new(settings);
        let leaves = ["--role", "r", "--on-exit", "leave"];
        let mut one =
            stage.hold_with("a", &leaves, &["sh", "-c", "echo $$ > a.pid; exec sleep 600"]);
        let command = stage.runs("a", None);
        // The command is gone before `tandem hold` runs again and learns either.
        one.signal(Signal::STOP);
        signal_pid(command.pid, Signal::TERM);
        eventually("the end of the command", SOON, || (!command.lives()).then_some(()));
        one.signal(Signal::TERM);
        one.signal(Signal::CONT);
        assert_eq!(one.ends().code(), Some(0), "{}", stage.said("a.err"));
    }
}

/// The XDG Base Directory Specification: a relative path there is invalid.
#[test]
fn a_relative_folder_for_state_is_ignored() {
    let stage = Stage::new(PATIENT);
    let mut command = stage.command("a", &["--serve", "127.0.0.1:0"], &[]);
    command.env("XDG_STATE_HOME", "relative").env("HOME", stage.path("home"));
    let one = Hold::start(command);
    let lives = stage.path("home/.local/state/tandem/hold/held.p1.a");
    eventually("the file of its lives", SOON, || lives.exists().then_some(()));
    assert!(!stage.path("relative").exists());
    assert!(Identity::of(one.pid()).is_some());
}
