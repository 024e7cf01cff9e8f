//! `on_death: leave`: the keeper of a `tandem hold` that was killed leaves the group for it, once
//! its command is gone. For one that is stopped nothing does.

use std::time::Duration;

use rustix::process::Signal;
use support::described::members;
use support::experiment::eventually;
use support::held::{Hold, SOON, Stage};
use tandem::guard::Identity;
use tandem::time::Mono;

/// It leaves a process behind that has to be killed.
const BODY: &str = "sleep 1000 & wait";
/// The group has settled if nothing changes for so long: a rebalance takes a hold, and less than a
/// second.
const STILL: Duration = Duration::from_secs(3);

/// Two members, of which one works: the one that does, and the other.
fn pair(stage: &Stage) -> ([(&'static str, Hold); 2], Identity) {
    let mut holds = ["a", "b"].map(|name| (name, stage.hold_alone(name, BODY)));
    let mut since: Option<(Mono, usize, Identity)> = None;
    let works = |at: usize| {
        let pid = stage.said(&format!("{}.pid", ["a", "b"][at])).trim().parse().ok()?;
        Identity::of(pid).map(|work| (at, work))
    };
    let (at, work) = eventually("a group that has settled", SOON, || {
        let (at, work) = (0..2).find_map(works)?;
        let known = since.filter(|(_, _, before)| *before == work);
        let (from, ..) = known.unwrap_or((Mono::now(), at, work));
        since = Some((from, at, work));
        let two = members(&stage.broker.address, "held-p1").len() == 2;
        (two && Mono::now().since(from) > STILL).then_some((at, work))
    });
    holds.rotate_left(at);
    (holds, work)
}

/// How long after a signal to the one that works the other works.
fn taken_over(settings: &str, signal: Signal) -> Duration {
    let stage = Stage::new(settings);
    let ([(_, victim), (other, _other)], work) = pair(&stage);
    victim.signal(signal);
    let signalled = Mono::now();
    stage.runs(other, None);
    let took = Mono::now().since(signalled);
    assert!(!work.lives(), "its command is gone before");
    stage.was_alone();
    victim.signal(Signal::CONT);
    took
}

#[test]
fn a_successor_works_long_before_the_session_of_a_killed_wrapper_ends() {
    let took =
        taken_over("mode: exclusive, session: 20s, hold: 1500ms, on_death: leave", Signal::KILL);
    assert!(took < Duration::from_secs(10), "{took:?} of a session of 20 s");
}

#[test]
fn its_keeper_reaches_the_brokers_where_the_edge_of_the_wrapper_has_died_with_it() {
    let took = taken_over(
        "mode: exclusive, session: 20s, hold: 1500ms, on_death: leave, launch: external, \
         chaos: allowed",
        Signal::KILL,
    );
    assert!(took < Duration::from_secs(10), "{took:?} of a session of 20 s");
}

#[test]
fn a_stopped_wrapper_is_waited_for() {
    let took =
        taken_over("mode: exclusive, session: 8s, hold: 1500ms, on_death: leave", Signal::STOP);
    // Its last heartbeat may be a second old, and late beside that.
    assert!(took > Duration::from_secs(6), "{took:?} of a session of 8 s");
}
