//! Groups that take minutes. `tests/long model` searches them; CONTRIBUTING.md has the numbers.

use super::holds;
use super::setting::Setting;

#[test]
#[ignore = "takes minutes"]
fn three_members_of_which_one_joins() {
    let joins = Setting { members: 2, later: 1, ..Setting::exclusive() };
    holds("two members and one that joins, exclusive", joins);
}

#[test]
#[ignore = "takes minutes"]
fn two_faults_in_exclusive_mode() {
    let two = Setting { faults: 2, horizon: Some(24), ..Setting::exclusive() };
    holds("two members, exclusive, two faults", two);
}

#[test]
#[ignore = "takes minutes"]
fn two_faults_in_non_exclusive_mode() {
    let two = Setting { faults: 2, horizon: Some(24), ..Setting::non_exclusive() };
    holds("two members, non-exclusive, two faults", two);
}
