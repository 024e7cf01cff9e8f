//! What programs beside the product show of durations: a feed that is led twice, and the comparison
//! of elections under `benches/`.

use std::process::Command;

use support::measured::shared_turn;

#[test]
fn a_killed_leader_is_replaced_in_the_comparison_of_elections() {
    let _turn = shared_turn();
    let tandem = support::program();
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
    let _turn = shared_turn();
    let done = Command::new(support::example("price_feed")).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(text.matches("killed p1-").count(), 2, "{text}");
    assert_eq!(text.matches("killed p2-").count(), 2, "{text}");
    let last = text.lines().last().unwrap();
    assert!(last.ends_with(" duplicates removed, 0 missed"), "{text}");
    let duplicates: Vec<u64> = last.split(' ').filter_map(|word| word.parse().ok()).collect();
    assert!(duplicates[0] > 100 && duplicates[1] > 100, "both groups publish: {text}");
}
