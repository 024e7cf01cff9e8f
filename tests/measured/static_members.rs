//! `static_members`: how long it takes until a member that was killed leads again.

use std::time::Duration;

use support::measured::shared_turn;
use support::static_lives::restart;

#[test]
fn a_static_member_that_is_started_again_waits_for_no_session() {
    let _turn = shared_turn();
    let restarts = restart(3);
    assert_eq!(restarts.took.len(), 3);
    // The session is 10 s.
    let longest = restarts.took[2];
    assert!(longest < Duration::from_secs(9), "{longest:?}");
}
