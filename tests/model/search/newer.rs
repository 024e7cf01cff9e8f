//! Small groups of the newer protocol (KIP-848): each member gives up first, confirms that, and is
//! then given what is free; the session is the group's, and a commit renews none.

use super::holds;
use super::setting::{Kind, Setting, TICK};

#[test]
fn two_members() {
    holds("newer protocol: two members, exclusive", Setting::newer());
}

#[test]
fn a_claim_may_outlive_a_revocation_by_the_hold() {
    let hold = Setting { hold: TICK, ..Setting::newer() };
    holds("newer protocol: two members, exclusive, hold S/8", hold);
}

#[test]
fn a_member_and_one_that_joins_at_any_time() {
    let joins = Setting { members: 1, later: 1, ..Setting::newer() };
    holds("newer protocol: a member and one that joins, exclusive", joins);
}

#[test]
fn two_of_deaths_leaves_and_broken_connections() {
    let kinds = &[Kind::Kill, Kind::Leave, Kind::Broken];
    let two = Setting { faults: 2, kinds, ..Setting::newer() };
    holds("newer protocol: two of death, leave, broken connection", two);
}
