//! `tandem apply` on groups that elect in other ways: one in exclusive mode never has two leaders,
//! one whose members stand in for the dead goes on to do so, and one without a cluster leads on.
//! What that costs, on a quiet host: `tests/measured/apply_modes.rs`.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use support::applied::{
    Part, SOON, all_live, apply, members, mixture, parts, process, processes, seat, stands, written,
};
use support::blocking_disk::BlockingDisk;
use support::experiment::{eventually, signal_pid};
use support::up::{Up, nothing_is_left};
use tandem::live_view::{Happening, Picture};

#[test]
fn other_elections_keep_their_promises_while_roles_and_members_come_and_go() {
    let topology = mixture();
    let (_folder, file) = written(&topology.text);
    let mut up = Up::start(&format!("-f {}", file.display()));
    stands(&up, "every role led", all_live);
    neither_come_nor_go(&up, &file);
    let mut follower = up.follow();
    let before = processes(&up);
    let change = |roles: usize, count: usize| topology.change((&up, &file), (roles, count), &[]).1;
    change(30, 2);
    assert_eq!(processes(&up), before, "no process is touched for roles");
    change(30, 3);
    // A member that has come is linked as the others are.
    stands(&up, "the lead of the one that has come", |picture| seat(picture, "p2-3").leads > 0);
    signal_pid(process(&up, "p2-3"), Signal::KILL);
    follower.await_event("a stand-in of the dead", |event| match &event.what {
        Happening::StandsIn { of, .. } => (of.member.as_str() == "p2-3").then_some(()),
        _ => None,
    });
    stands(&up, "its next life", |picture| {
        let seat = seat(picture, "p2-3");
        seat.incarnation.0 == 2 && seat.pid.is_some()
    });
    let picture = change(3, 2);
    assert_eq!(processes(&up), before, "those that stay are not started again");
    assert!(picture.roles.iter().all(|role| role.leaders.len() == 3), "{picture:?}");
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
    let parts = Part::all(&up);
    assert_eq!(parts.len(), 4, "a file each plan");
    for (part, number) in parts.iter().zip(1..) {
        for name in ["p1", "p3"] {
            assert_eq!(part.overlaps(name), [], "group {name} in file {number}");
        }
    }
}

/// Members that elect among themselves: that is refused before anything changes.
fn neither_come_nor_go(up: &Up, file: &Path) {
    let before = (processes(up), parts(up).len());
    fs::write(file, mixture().text.replace("members: 3", "members: 5")).unwrap();
    let (code, said) = apply(up, file, &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("topology.yaml:8:"), "{said}");
    assert!(said.contains("elect among themselves neither come nor go"), "{said}");
    assert_eq!((processes(up), parts(up).len()), before, "nothing has changed");
}

/// The journal lacks a change for which there was no room; what is up has it.
#[test]
fn a_change_holds_on_a_full_disk() {
    let disk = BlockingDisk::new();
    let topology = mixture().without_votes();
    let (_folder, file) = written(&topology.text);
    let mut up = Up::start_into(&format!("-f {}", file.display()), &[], &disk.folder("out"));
    stands(&up, "every role led", all_live);
    let full = disk.fill();
    let unwritten = || up.status().1.filter(|picture| !picture.journal.written);
    eventually("a journal that finds no room", SOON, unwritten);
    fs::write(&file, topology.with(30, 3)).unwrap();
    let (code, said) = apply(&up, &file, &[]);
    assert_eq!(code, Some(0), "{said}\n{}", up.said());
    assert!(said.contains("the journal is not being written ("), "{said}");
    assert!(said.contains("; the change holds"), "{said}");
    let there = |picture: &Picture| picture.roles.len() == 30 && members(picture) == [3, 3];
    stands(&up, "30 roles, 3 members", there);
    fs::remove_file(full).unwrap();
    let picture = stands(&up, "a journal with room", |picture| picture.journal.written);
    assert!(picture.journal.lost > 0, "{picture:?}");
    let last = parts(&up).pop().unwrap().header;
    assert_eq!(last.plan.roles.len(), 30, "{:?}", last.part);
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
}
