//! `static_members`: a member that is started again within its session takes its own place, and no
//! other notices; a second process of one is refused.

use std::time::Duration;

use support::experiment::{output, tandem};
use support::measured::shared_turn;
use support::static_lives::restart;

#[test]
fn a_static_member_that_is_started_again_takes_its_own_place() {
    let _turn = shared_turn();
    let restarts = restart(3);
    assert_eq!(restarts.took.len(), 3);
    assert_eq!((restarts.moved, restarts.taken), (vec![], vec![]));
    // None waited for the session, which is 10 s.
    let longest = restarts.took[2];
    assert!(longest < Duration::from_secs(9), "{longest:?}");
}

#[test]
fn an_experiment_starts_no_static_member_twice() {
    let state = tempfile::tempdir().unwrap();
    let mut command = tandem(state.path());
    command.args(["chaos", "run", "chaos/duplicate-leader.yaml", "--dry-run"]);
    command.args(["--set", "defaults.static_members=true"]);
    let refused = output(&mut command);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success(), "{said}");
    assert!(said.contains("has static members, of which there is one each"), "{said}");
}
