//! Three groups on three stores: each store is lost in turn, and all at once.

use std::time::Duration;

use support::measured::shared_turn;
use support::stores::stores_lost_in_turn;

/// As long as no lease and no session lasts.
#[test]
fn without_any_one_store_and_without_two_every_role_is_led() {
    let _turn = shared_turn();
    stores_lost_in_turn(Duration::from_secs(5));
}
