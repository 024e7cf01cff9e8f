//! `on_death: leave`: the keeper of a `tandem hold` that was killed leaves the group for it, once
//! its command is gone, and all that this left. No session ends here: each is longer than any wait.

use rustix::process::Signal;
use support::experiment::eventually;
use support::held::{SOON, Stage, written};
use tandem::guard::Identity;

use super::ends::UNMARKED;

/// The hold leaves a busy host the time to end all of a command.
const GROUP: &str = "mode: exclusive, session: 10m, heartbeat: 300ms, hold: 20s, on_death: leave";

/// Kills the one of two that works; then the other works, and finds nothing at its side.
fn another_follows(settings: &str) {
    let stage = Stage::new(settings).with_grace("200ms");
    let names = ["a", "b"];
    let holds = names.map(|name| stage.hold_alone(name, UNMARKED));
    stage.settled(2);
    let works = |at: usize| {
        let pid = stage.said(&format!("{}.pid", names[at])).trim().parse().ok()?;
        Identity::of(pid).map(|work| (at, work))
    };
    let (at, work) = eventually("a command", SOON, || (0..2).find_map(works));
    let detached = written(&stage.path("detached"));
    holds[at].signal(Signal::KILL);
    stage.runs(names[1 - at], None);
    assert!(!work.lives() && !detached.lives(), "its command is gone before");
    let said = format!("{}.err", names[at]);
    eventually("the word of its keeper", SOON, || {
        stage.said(&said).contains("The keeper left the group for the dead").then_some(())
    });
    stage.was_alone();
}

#[test]
fn a_successor_works_without_the_end_of_the_session_of_a_killed_wrapper() {
    another_follows(GROUP);
}

#[test]
fn its_keeper_reaches_the_brokers_where_the_edge_of_the_wrapper_has_died_with_it() {
    another_follows(&format!("{GROUP}, launch: external, chaos: allowed"));
}
