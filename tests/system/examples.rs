//! The programs under `examples/` that embed a crate do what they show.

use std::path::PathBuf;
use std::process::Command;

/// What an example prints; it ends well.
fn printed(name: &str) -> String {
    // `cargo test` builds the examples beside the program; with `--test`, `cargo build --examples`
    // has to come first.
    let folder = PathBuf::from(env!("CARGO_BIN_EXE_tandem")).with_file_name("examples");
    let done = Command::new(folder.join(name)).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{name}: {text}{}", String::from_utf8_lossy(&done.stderr));
    text
}

#[test]
fn a_client_reads_its_messages_back_from_an_embedded_broker() {
    assert!(printed("embedded_broker").starts_with("read \"buy 100\" from 127.0.0.1:"));
}

#[test]
fn the_remaining_member_leads_the_roles_of_the_other() {
    let text = printed("two_members");
    let last = text.lines().last().unwrap();
    assert_eq!(last, "the first has left, and the second leads [0, 1, 2, 3]", "{text}");
}

#[test]
fn a_client_behind_an_edge_loses_its_broker_and_has_it_back() {
    let text = printed("edge");
    let reached = text.lines().map(|line| line.rsplit(' ').next().unwrap());
    assert_eq!(reached.collect::<Vec<_>>(), ["true", "false", "true"], "{text}");
}
