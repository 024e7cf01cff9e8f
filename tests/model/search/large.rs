//! Groups that take minutes to hours: `tests/measure model`.

use super::holds;
use super::setting::{Kind, Setting};

#[test]
#[ignore = "takes minutes"]
fn two_members_and_one_that_joins_in_exclusive_mode() {
    let joins = Setting { members: 2, later: 1, ..Setting::exclusive() };
    holds("two members and one that joins, exclusive", joins);
}

#[test]
#[ignore = "doubles what the family takes"]
fn a_deposed_coordinator_beside_a_death_in_exclusive_mode() {
    let kinds = &[Kind::Kill, Kind::Deposed];
    let two = Setting { faults: 2, kinds, ..Setting::exclusive() };
    holds("two members, exclusive, two of death and deposed coordinator", two);
}

#[test]
#[ignore = "takes minutes"]
fn two_faults_of_members_in_exclusive_mode() {
    let kinds = &[Kind::Kill, Kind::Pause, Kind::Cut, Kind::Deposed];
    let two = Setting { faults: 2, kinds, ..Setting::exclusive() };
    holds("two members, exclusive, two faults of members", two);
}

#[test]
#[ignore = "takes hours"]
fn two_faults_in_exclusive_mode() {
    let two = Setting { faults: 2, horizon: Some(24), ..Setting::exclusive() };
    holds("two members, exclusive, two faults", two);
}

#[test]
#[ignore = "takes hours"]
fn two_faults_in_non_exclusive_mode() {
    let two = Setting { faults: 2, horizon: Some(24), ..Setting::non_exclusive() };
    holds("two members, non-exclusive, two faults", two);
}
