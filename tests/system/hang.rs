//! A controller that hangs: the loop that heals stands still, and the threads beside it run on. Its
//! guard goes by the loop, and does what that does no more. That a second is no end, on a quiet
//! host: `tests/measured/hang.rs`.

use std::time::Duration;

use support::experiment::eventually;
pub(super) use support::hung::Held;
use support::leftovers::see;
use support::undone::{Stage, says};
use support::up::{Up, nothing_is_left};
use tandem::live_view::Level;

const SOON: Duration = Duration::from_secs(60);

#[test]
fn a_controller_whose_healing_loop_hangs_is_healed_by_its_guard() {
    let stage = Stage::set();
    let (run, family) = stage.under_way();
    assert!(!stage.is_served(), "its faults are in force");
    let held = Held::thread(run.pid());
    family.is_gone_but(&[run.pid()]);
    stage.is_healed();
    assert!(see(run.pid()).is_some_and(|one| !one.is_stopped()), "the process itself runs");
    drop(held);
    let run = run.finish();
    says(&run, "the guard ended this run, because this process did not run for ");
    assert_eq!(run.code(), Some(4), "{run}");
    assert!(stage.ledgers().is_empty(), "{run}");
}

#[test]
fn a_topology_whose_loop_hangs_is_ended_by_its_guard() {
    let mut up = Up::start("-f topologies/solo.yaml");
    let picture = up.await_health(Level::Led);
    let members = picture.groups.values().flat_map(|group| group.members.values());
    let pids: Vec<u32> = members.filter_map(|member| member.pid).collect();
    assert_eq!(pids.len(), 3);
    let held = Held::thread(up.supervisor());
    eventually("the end of the members", SOON, || {
        pids.iter().all(|pid| see(*pid).is_none()).then_some(())
    });
    drop(held);
    assert_eq!(up.ends().code(), Some(4), "{}", up.said());
    assert!(up.said().contains("this process did not run for "), "{}", up.said());
    nothing_is_left(up.state());
}
