//! A loop that heals and hangs for a second is no end: a pulse of two seconds ago counts.

use std::time::Duration;

use rustix::process::Signal;
use support::hung::Held;
use support::leftovers::see;
use support::measured::turn;
use support::quiet::undisturbed;
use support::undone::{Stage, says};
use support::up::{Up, nothing_is_left};
use tandem::live_view::Level;
use tandem::time::Mono;

/// Three seconds of silence, and how late the guard looks; the rest is the host's.
const NOTICED: Duration = Duration::from_secs(10);
/// What a loop that hangs for longer than this may end by.
const LONG: Duration = Duration::from_millis(1_500);

/// A loop that hangs three times, for a second each: how long it did at most, and what is up.
fn hangs() -> (Duration, Up) {
    let _turn = turn();
    let up = Up::start("-f topologies/solo.yaml");
    up.await_health(Level::Led);
    let mut longest = Duration::ZERO;
    for _ in 0..3 {
        assert!(up.status().1.is_some(), "{}", up.said());
        let since = Mono::now();
        let held = Held::thread(up.supervisor());
        std::thread::sleep(Duration::from_secs(1));
        drop(held);
        longest = longest.max(Mono::now().since(since));
        std::thread::sleep(Duration::from_millis(500));
    }
    // One that was ended does not stand any more.
    if longest < LONG {
        up.await_health(Level::Led);
        up.signal(Signal::INT);
    }
    (longest, up)
}

#[test]
fn a_loop_that_hangs_for_a_second_is_no_end() {
    let is_long = |(longest, _): &(Duration, Up)| *longest >= LONG;
    let shown = |(longest, up): &(Duration, Up)| format!("held for {longest:?}\n{}", up.said());
    let Some((_, mut up)) = undisturbed(hangs, is_long, shown) else { return };
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
}

#[test]
fn a_healing_loop_that_hangs_is_noticed_within_seconds() {
    let _turn = turn();
    let stage = Stage::set();
    let (run, family) = stage.under_way();
    let began = Mono::now();
    let held = Held::thread(run.pid());
    let took = family.gone_after(began, &[run.pid()]).max(stage.healed_after(began));
    let stalled = family.stalled_since(began);
    assert!(took <= NOTICED + stalled, "{took:?} after the loop hung, stalled for {stalled:?}");
    assert!(see(run.pid()).is_some_and(|one| !one.is_stopped()), "the process itself runs");
    drop(held);
    says(&run.finish(), "the guard ended this run, because this process did not run for ");
}
