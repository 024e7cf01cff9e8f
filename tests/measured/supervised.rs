//! What it costs that `tandem up` and its guard are killed and replaced: gaps within the bound of a
//! death, and a state that is shown soon. What must hold on any host: `tests/system/supervised.rs`.

use std::time::Duration;

use support::measured::turn;
use support::supervised::{Ordeal, pids};
use support::up::{Up, nothing_is_left};
use tandem::live_view::Level;
use tandem::time::Mono;

#[test]
fn up_and_guard_are_killed_in_turn_and_together_while_leaders_die() {
    let _turn = turn();
    let mut ordeal = Ordeal::begin("-f topologies/duo.yaml", &["p1", "p2"]);
    for round in 0..4 {
        if round == 2 {
            ordeal.upgrade();
        }
        ordeal.play_round(round, Duration::from_secs(8));
    }
    let survived = ordeal.end();
    assert!(survived.kills >= 4 && !survived.gaps.is_empty(), "{} kills", survived.kills);
    for (gap, most) in survived.gaps {
        assert!(gap <= most, "a gap of {gap:?}, of at most {most:?}");
    }
    // The series measures it more closely.
    let slowest = survived.right_after.iter().max().unwrap();
    assert!(*slowest <= Duration::from_secs(10), "{slowest:?}");
}

#[test]
fn an_up_that_is_replaced_waits_for_nothing() {
    let _turn = turn();
    let mut old = Up::start("-f topologies/solo.yaml");
    let before = old.await_health(Level::Led);
    let began = Mono::now();
    let mut new = Up::start_in("-f topologies/solo.yaml --replace", old.state());
    assert_eq!(old.ends().code(), Some(0), "{}", old.said());
    let took = Mono::now().since(began);
    assert!(took < Duration::from_secs(8), "{took:?}");
    assert_eq!(pids(&new.await_health(Level::Led)), pids(&before));
    new.signal(rustix::process::Signal::INT);
    assert_eq!(new.ends().code(), Some(0), "{}", new.said());
    nothing_is_left(old.state());
}
