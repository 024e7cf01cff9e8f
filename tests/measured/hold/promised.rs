//! A job in Python that holds the promises of its sidecar to the last millisecond, while members
//! join and leave: its referee never sees two at work.

use support::measured::shared_turn;
use support::promises::Promises;

/// In each, one joins, and one leaves.
const ROUNDS: usize = 3;

#[test]
fn promises_are_held_to_the_last_millisecond_and_never_by_two() {
    let _turn = shared_turn();
    let mut all = Promises::start(2);
    for number in 0..ROUNDS {
        all.join();
        all.leave(number.is_multiple_of(2));
    }
    let overlaps = all.overlaps();
    if let Some(overlap) = overlaps.iter().find(|overlap| !overlap.is_of_the_host()) {
        panic!("at the same time: {overlap}");
    }
    let (left, pauses) = (all.left_us(), all.pauses());
    // A job ends in the last millisecond, or later if the host keeps it from running.
    assert!(left.iter().all(|left| *left <= 1_000), "{left:?}");
    assert!(pauses.len() >= ROUNDS, "the role moves with each join: {pauses:?}");
    println!("{} promises, {left:?} us left; {pauses:?} until another began", left.len());
}
