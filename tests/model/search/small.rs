//! Groups that are small enough to search at each change. Any one fault, at any time, for any time.

use super::holds;
use super::setting::{Setting, TICK};
use tandem_neli::Publishers;

#[test]
fn two_members_in_exclusive_mode() {
    holds("two members, exclusive", Setting::exclusive());
}

#[test]
fn a_claim_may_outlive_a_revocation_by_the_hold() {
    let hold = Setting { hold: TICK, ..Setting::exclusive() };
    holds("two members, exclusive, hold S/8", hold);
}

#[test]
fn a_member_and_one_that_joins_at_any_time_in_exclusive_mode() {
    let joins = Setting { members: 1, later: 1, ..Setting::exclusive() };
    holds("a member and one that joins, exclusive", joins);
}

#[test]
fn two_members_in_non_exclusive_mode() {
    holds("two members, non-exclusive", Setting::non_exclusive());
}

#[test]
fn two_members_that_hand_over_in_non_exclusive_mode() {
    let hands_over = Setting { hands_over: true, ..Setting::non_exclusive() };
    holds("two members that hand over, non-exclusive", hands_over);
}

#[test]
fn three_members_in_exclusive_mode() {
    let three = Setting { members: 3, ..Setting::exclusive() };
    holds("three members, exclusive", three);
}

#[test]
fn two_members_in_exclusive_mode_that_hear_only_themselves() {
    let owners = Setting { publishers: Publishers::Owners, ..Setting::exclusive() };
    holds("two members that publish as owners, exclusive", owners);
}

#[test]
fn two_members_that_hand_over_and_hear_only_themselves() {
    let all = Setting { hands_over: true, ..Setting::non_exclusive() };
    let owners = Setting { publishers: Publishers::Owners, ..all };
    holds("two members that hand over and publish as owners", owners);
}
