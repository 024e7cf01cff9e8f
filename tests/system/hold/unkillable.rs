//! A command that the kernel does not end, since it waits for a disk: its member halts without
//! leaving, so that the role moves a session later, and the user learns why.

use std::fs::File;

use rustix::process::Signal;
use support::blocking_disk::BlockingDisk;
use support::experiment::{eventually, signal_pid};
use support::held::{SOON, Stage, remove_cgroups};
use support::leftovers::{Seen, see};
use support::referee::promises;
use tandem::time::Mono;

/// Of the group.
const SESSION_MS: u64 = 6_000;

/// A group whose members outlast two seconds in which the host stops any process.
fn stage() -> Stage {
    let group = format!("mode: exclusive, session: {SESSION_MS}ms, heartbeat: 300ms, hold: 3s");
    Stage::new(&group).with_grace("200ms")
}

/// Waits until the disk takes nothing, and then writes to it.
fn writes_to(disk: &BlockingDisk) -> String {
    let file = disk.folder("file");
    format!("while ! [ -e blocked ]; do sleep 0.01; done; echo x > {}", file.display())
}

/// Blocks the disk, and waits until the command waits for it.
fn waits(stage: &Stage, disk: &BlockingDisk, pid: u32) {
    disk.block();
    File::create(stage.path("blocked")).unwrap();
    eventually("a command that waits for the disk", SOON, || {
        see(pid).filter(Seen::waits_for_a_disk).map(drop)
    });
}

#[test]
fn a_command_that_cannot_be_killed_keeps_its_role_for_a_session_more() {
    let disk = BlockingDisk::new();
    let stage = stage();
    let mut first =
        stage.hold("a", &["sh", "-c", &format!("echo $$ > a.pid; {}", writes_to(&disk))]);
    let command = stage.runs("a", None);
    waits(&stage, &disk, command.pid);
    // It joins; the group takes the role away, and waits for the command in vain.
    let second = stage.hold("b", &["sh", "-c", "echo $$ > b.pid; exec sleep 60"]);
    stage.runs("b", None);
    let led = Mono::now(); // clock: no sooner
    assert_eq!(first.ends().code(), Some(1));
    let said = stage.said("a.err");
    let why = "the command does not end, not even by SIGKILL; this process ends without leaving \
               its group, so that the role moves a session later";
    assert!(said.contains(why), "{said}");
    assert!(command.lives(), "it waits for the disk");
    let promised = promises(&said).into_values().max().unwrap();
    // A session counts from the last heartbeat, and no promise lasts for more than four fifths of
    // it.
    let later = led.since(promised).as_millis();
    assert!(later >= u128::from(SESSION_MS) / 5, "{later} ms after the promise");
    disk.go_on();
    eventually("its end", SOON, || (!command.lives()).then_some(()));
    remove_cgroups(&said);
    drop(second);
}

/// As on a host that is too busy to end a command in time.
#[test]
fn a_command_that_ends_late_is_no_command_that_does_not_end() {
    let disk = BlockingDisk::new();
    let stage = stage();
    let mut one = stage.hold("a", &["sh", "-c", &format!("echo $$ > a.pid; {}", writes_to(&disk))]);
    let command = stage.runs("a", None);
    waits(&stage, &disk, command.pid);
    signal_pid(stage.broker.pid(), Signal::STOP);
    eventually("a member that halts", SOON, || {
        stage.said("a.err").contains("The member has halted").then_some(())
    });
    disk.go_on();
    assert_eq!(one.ends().code(), Some(1));
    let said = stage.said("a.err");
    assert!(
        said.contains("the command ended late, ") && said.contains(" after its member had halted"),
        "{said}"
    );
    assert!(!said.contains("does not end, not even"), "{said}");
    assert!(!command.lives());
    signal_pid(stage.broker.pid(), Signal::CONT);
}
