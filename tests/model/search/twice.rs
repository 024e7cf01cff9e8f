//! Two faults, where their states can be searched at each change: faults that last are many states,
//! for the second may begin at any time in the first.

use super::holds;
use super::setting::{Kind, Setting};

#[test]
fn deaths_leaves_and_broken_connections_in_exclusive_mode() {
    let kinds = &[Kind::Kill, Kind::Leave, Kind::Broken];
    let two = Setting { faults: 2, kinds, ..Setting::exclusive() };
    holds("two members, exclusive, two of death, leave, broken connection", two);
}

#[test]
fn a_message_that_is_held_and_another_one_or_a_death_in_exclusive_mode() {
    let kinds = &[Kind::Kill, Kind::Held, Kind::Broken];
    let two = Setting { faults: 2, kinds, ..Setting::exclusive() };
    holds("two members, exclusive, two of death, held message, broken connection", two);
}

#[test]
fn a_coordinator_that_moves_twice_or_beside_a_death_in_non_exclusive_mode() {
    let kinds = &[Kind::Kill, Kind::Leave, Kind::Moved];
    let two = Setting { faults: 2, kinds, ..Setting::non_exclusive() };
    holds("two members, non-exclusive, two of death, leave, move of the coordinator", two);
}

#[test]
fn a_cut_beside_a_death_or_another_cut_in_non_exclusive_mode() {
    let kinds = &[Kind::Kill, Kind::Cut];
    let two = Setting { faults: 2, kinds, ..Setting::non_exclusive() };
    holds("two members, non-exclusive, two of death and cut", two);
}
