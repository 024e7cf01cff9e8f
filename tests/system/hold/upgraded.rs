//! A program that was replaced on disk, as packages do it, goes on with the file that was started.

use std::fs;

use rustix::process::Signal;
use support::experiment::signal_pid;
use support::held::{PATIENT, Stage};

#[test]
fn a_wrapper_whose_file_was_replaced_starts_its_keeper_and_its_command_again() {
    let folder = tempfile::tempdir_in(support::scratch()).unwrap();
    let program = folder.path().join("tandem");
    support::install(&program);
    let stage = Stage::new(PATIENT).with_program(&program);
    let one = stage.hold_alone("a", "while :; do sleep 0.02; done");
    let before = stage.runs("a", None);
    // Another file takes the name, and it would start nothing.
    let next = folder.path().join("next");
    fs::write(&next, "not a program").unwrap();
    fs::rename(&next, &program).unwrap();
    signal_pid(one.keeper().pid, Signal::KILL);
    stage.runs("a", Some(before));
    stage.was_alone();
}
