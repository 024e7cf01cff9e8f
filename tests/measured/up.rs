//! A journal that becomes full while its folder is away: the next file has no place, and the run
//! continues. It takes as long as the facts of a mebibyte; a file that begins sooner, because the
//! topology is changed, has the same fate in `tests/system/up.rs`.

use std::fs;
use std::time::Duration;

use support::experiment::eventually;
use support::measured::shared_turn;
use support::supervised::{loses_a_death, pids};
use support::up::{Up, nothing_is_left};
use tandem::live_view::{Happening, Level};

const SOON: Duration = Duration::from_secs(60);

#[test]
fn a_full_journal_without_a_next_one_is_reported_and_the_run_continues() {
    let _turn = shared_turn();
    let limits = "--journal-size 1 --journal-files 3 --set objective.joint_gap=10s";
    let mut up = Up::start(&format!("-f topologies/trio.yaml {limits}"));
    let members = pids(&up.await_health(Level::Led));
    let mut follower = up.follow();
    let away = up.out.with_extension("away");
    fs::rename(&up.out, &away).unwrap();
    follower.await_event("that nothing is written", |event| match &event.what {
        Happening::Unwritten { why } if why.contains("journal-") => Some(()),
        _ => None,
    });
    let picture = up.status().1.unwrap();
    assert!(!picture.journal.written && picture.journal.why.is_some(), "{:?}", picture.journal);
    eventually("the members are up", SOON, || {
        let (code, picture) = up.status();
        (picture?.health == Level::Led && code == Some(0)).then_some(())
    });
    loses_a_death(&mut up, &mut follower, *members.values().next().unwrap(), &away);
    nothing_is_left(up.state());
}
