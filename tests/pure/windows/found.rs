//! Histories of chance, and those among them that were once cut into windows that disagreed with
//! the timeline: by their numbers, which no generator has to draw again.

use std::time::Duration;

use support::cases::found;
use support::chance::{Draws, history};
use support::facts::plan;
use support::watched::plausible;

use super::{agrees, undisturbed};

/// When the histories of chance end.
const END: u64 = 25_000;

/// Asserts that windows of this length agree with the timeline of such a history; facts are late by
/// these delays, again and again.
pub(super) fn agrees_by_chance(numbers: Vec<u32>, delays: Vec<u64>, length: u64) {
    let plan = plan(3, &[("p1", 2, 2), ("p2", 2, 2)]);
    let facts = undisturbed(plausible(history(&["p1", "p2"], &mut Draws::new(numbers)), END));
    let mut delays = delays.into_iter().cycle().map(Duration::from_millis);
    agrees(&plan, &facts, length, || delays.next().unwrap());
}

#[test]
fn what_once_disagreed_agrees() {
    let all = found("windows.txt");
    assert!(all.len() >= 3, "{} cases were found", all.len());
    for (at, case) in all.iter().enumerate() {
        let [numbers, delays, length] = ["numbers", "delays", "length"].map(|name| &case[name]);
        let small = |number: &u64| u32::try_from(*number).unwrap();
        eprintln!("case {at}: {} numbers, windows of {} ms", numbers.len(), length[0]);
        agrees_by_chance(numbers.iter().map(small).collect(), delays.clone(), length[0]);
    }
}
