//! Orders to members on other hosts, whose monotonic clocks are apart by days: what happens there
//! is known to within the stated error, and undone. More of it, and how soon, on a quiet host:
//! `tests/measured/hold/ordered_apart.rs`.

use support::apart::{Apart, HERE, host_of};
use support::leftovers::is_stopped;
use support::pauses_apart::{referee, within};
use tandem::guard::started;
use tandem::observation::RunEvent;

/// Not the host of the controller.
const VICTIM: &str = "p1-b";

#[test]
fn a_member_on_another_host_is_paused_and_both_instants_are_known_to_within_the_error() {
    let apart = Apart::new();
    assert_ne!(host_of(VICTIM), HERE);
    let pid = apart.pid(VICTIM);
    let truth = referee(pid);
    let step = format!("fault: pause, for: 3s, target: {{member: {VICTIM}}}");
    let paused = apart.disturb("pause", &step).finish();
    paused.sound();
    let [stopped, continued] = truth.join().unwrap();
    let facts = paused.recording().facts;
    within(&facts, VICTIM, &RunEvent::Stopped, stopped);
    within(&facts, VICTIM, &RunEvent::Continued, continued);
    assert!(started(pid).is_some() && !is_stopped(pid), "{paused}");
}
