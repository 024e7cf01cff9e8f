//! The programs under `examples/` that embed a crate do what they show, and the comparison of
//! elections under `benches/` measures.

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

#[test]
fn a_killed_leader_is_replaced_in_the_comparison_of_elections() {
    let tandem = env!("CARGO_BIN_EXE_tandem");
    let done = Command::new("benches/elections/run")
        .args(["--kills", "1", "--only", "tandem-stand-in", "--tandem", tandem])
        .output()
        .unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
    let row = text.lines().find(|line| line.starts_with("| Tandem")).unwrap();
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let [kills, least, most] = [3, 4, 7].map(|at| cells[at].parse::<f64>().unwrap());
    assert!((kills - 1.0).abs() < 0.5 && least > 0.0, "{row}");
    // A session is 10 s: this was a stand-in.
    assert!(most < 5_000.0, "{row}");
}

#[test]
fn a_feed_that_is_led_twice_misses_no_price_while_leaders_are_killed() {
    let text = printed("price_feed");
    assert_eq!(text.matches("killed p1-").count(), 2, "{text}");
    assert_eq!(text.matches("killed p2-").count(), 2, "{text}");
    let last = text.lines().last().unwrap();
    assert!(last.ends_with(" duplicates removed, 0 missed"), "{text}");
    let duplicates: Vec<u64> = last.split(' ').filter_map(|word| word.parse().ok()).collect();
    assert!(duplicates[0] > 100 && duplicates[1] > 100, "both groups publish: {text}");
}
