//! A job in Python that holds the promises of its sidecar, while members join and leave: no job of
//! another begins before such a promise has ended. That they are held to the last millisecond, on a
//! quiet host: `tests/measured/hold/promised.rs`.

use support::promises::Promises;

/// In each, one joins, and one leaves.
const ROUNDS: usize = 2;

#[test]
fn no_job_begins_before_the_promise_of_another_one_has_ended() {
    let mut all = Promises::unwatched(2);
    for number in 0..ROUNDS {
        let before = all.until_held("work before a join", |_| true).fence;
        let name = all.begin("0");
        all.until_held("work of the one that has joined", |held| {
            held.name == name && held.fence > before
        });
        all.leave(number.is_multiple_of(2));
    }
    // A job that the host holds up ends late, and may then be at work beside another one.
    let overlaps = all.overlaps();
    if let Some(broken) = overlaps.iter().find(|overlap| overlap.breaks_promise()) {
        panic!("at the same time: {broken}");
    }
}

#[test]
fn a_job_that_outstays_its_promise_is_found() {
    let mut all = Promises::unwatched(0);
    let first = all.begin("3600");
    let fence = all.until_held("the first promise", |held| held.name == first).fence;
    let second = all.begin("0");
    all.take_leave(&first);
    all.until_held("a promise after it", |held| held.name == second && held.fence > fence);
    let overlaps = all.overlaps();
    assert!(!overlaps.is_empty(), "they are at work at the same time");
    assert!(overlaps.iter().all(|overlap| !overlap.breaks_promise()), "{overlaps:?}");
}
