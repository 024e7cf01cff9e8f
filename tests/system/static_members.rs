//! `static_members`: a member that is started again within its session takes its own place, and no
//! other notices; a second process of one is refused. How long a restart takes:
//! `tests/measured/static_members.rs`.

use support::experiment::{output, tandem};
use support::static_lives::restart_with;

/// As long as a life is waited for at most, so none waits for its end.
const SESSION: &str = "--set defaults.session=60s --set defaults.heartbeat=300ms";

#[test]
fn a_static_member_that_is_started_again_takes_its_own_place() {
    let restarts = restart_with(SESSION, 3);
    assert_eq!(restarts.took.len(), 3);
    assert_eq!((restarts.moved, restarts.taken), (vec![], vec![]));
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
