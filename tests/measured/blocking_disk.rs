//! A disk that blocks for twenty seconds: heals, restarts, `status` and Ctrl-C are in time.
//! What the queue held is written when the disk is back; what it could not hold is a recorded hole.

use std::time::Duration;

use rustix::process::Signal;
use support::blocking_disk::BlockingDisk;
use support::disk_blocks::{Struck, is_whole, paused};
use support::experiment::{Experiment, Running, eventually};
use support::leftovers::{Family, see};
use support::measured::shared_turn;
use support::up::{Up, nothing_is_left};
use tandem::live_view::Level;
use tandem::observation::{Fact, RunEvent, What};
use tandem::time::Mono;
use tandem::verdict::Verdict;

/// For how long the disk takes nothing.
const BLOCKS: Duration = Duration::from_secs(20);
/// For how long the leader is paused.
const PAUSED: Duration = Duration::from_secs(12);
/// What a loaded host may add to it.
const LATE: Duration = Duration::from_secs(4);
const SOON: Duration = Duration::from_secs(60);

/// `pause-leader`, one trial of twelve seconds, its folder on the disk.
fn pause_leader(disk: &BlockingDisk, name: &str) -> Experiment {
    let order = Experiment::shortened("pause-leader", "for: 3s", "for: 12s");
    order.with("--trials 1").into(&disk.folder(name))
}

/// Blocks the disk while a member is paused, and lets it go on after twenty seconds; for how long
/// the member was stopped since the disk blocked.
fn blocks_in_the_middle(disk: &BlockingDisk, run: &Running) -> Duration {
    let pid = paused(run);
    disk.block();
    let began = Mono::now();
    assert!(see(pid).unwrap().is_stopped());
    eventually("a member that is woken", PAUSED + LATE, || {
        see(pid).is_some_and(|one| !one.is_stopped()).then_some(())
    });
    let woken = Mono::now().since(began);
    std::thread::sleep(BLOCKS.saturating_sub(woken));
    disk.go_on();
    woken
}

fn holes(facts: &[Fact]) -> Vec<(Mono, Mono, u64)> {
    let hole = |fact: &Fact| match fact.what {
        What::Run(RunEvent::Unwritten { from, until, facts }) => Some((from, until, facts)),
        _ => None,
    };
    facts.iter().filter_map(hole).collect()
}

#[test]
fn a_pause_is_healed_in_time_and_waiting_facts_are_written() {
    let _turn = shared_turn();
    let disk = BlockingDisk::new();
    let run = pause_leader(&disk, "whole").start();
    let woken = blocks_in_the_middle(&disk, &run);
    eprintln!("the member was woken {woken:.1?} after the disk blocked");
    let run = run.finish();
    let facts = run.recording().facts;
    assert_eq!(holes(&facts), [], "{run}");
    is_whole(&facts);
    let at = |wanted: fn(&What) -> bool| facts.iter().find(|fact| wanted(&fact.what)).unwrap().t;
    let in_force = at(|what| matches!(what, What::Run(RunEvent::FaultInForce { .. })));
    let healed = at(|what| matches!(what, What::Run(RunEvent::FaultHealed { .. })));
    let lasted = healed.since(in_force);
    assert!((PAUSED..PAUSED + LATE).contains(&lasted), "{lasted:?}");
    assert!(run.report().reasons.iter().all(|why| !why.contains("disk")), "{run}");
    assert!(
        matches!(at(|what| matches!(what, What::Run(RunEvent::Ended { .. }))), Mono(1..)),
        "{run}"
    );
}

#[test]
fn an_overflow_of_the_queue_is_a_hole_and_makes_the_run_unknown() {
    let _turn = shared_turn();
    let disk = BlockingDisk::new();
    let order = pause_leader(&disk, "hole").set("TANDEM_TEST_JOURNAL_QUEUE", "60000");
    let run = order.start();
    let woken = blocks_in_the_middle(&disk, &run);
    assert!(woken < PAUSED + LATE, "{woken:?}");
    let run = run.finish();
    let facts = run.recording().facts;
    let holes = holes(&facts);
    assert!(!holes.is_empty(), "{run}");
    // A disk that is slow for a moment may leave a short one before.
    let (from, until, lost) =
        holes.iter().copied().max_by_key(|(from, until, _)| until.since(*from)).unwrap();
    assert!(lost > 0 && until.since(from) > BLOCKS / 2, "{holes:?}");
    let report = run.report();
    assert_ne!(report.verdict, Verdict::Pass, "{run}");
    assert!(report.reasons.iter().any(|why| why.contains("The disk did not take")), "{run}");
    assert!(report.unknown_ms > 5_000.0, "{run}");
}

#[test]
fn an_interrupt_ends_everything_while_the_disk_blocks() {
    let _turn = shared_turn();
    let disk = BlockingDisk::new();
    let run = pause_leader(&disk, "interrupted").start();
    paused(&run);
    let family = Family::of(&run);
    disk.block();
    std::thread::sleep(Duration::from_secs(1));
    let interrupted = Mono::now();
    run.signal(Signal::INT);
    // The kernel does not end a process that waits for this disk; the controller itself is still
    // there.
    family.is_gone_since(interrupted, &[run.pid()]);
    disk.go_on();
    let run = run.finish();
    assert_eq!(run.code(), Some(130), "{run}");
    let facts = run.recording().facts;
    assert_eq!(holes(&facts), [], "{run}");
    is_whole(&facts);
}

/// Blocks the disk of a topology that is kept up, kills a member and a broker meanwhile, and lets
/// it go on. Members warn of the broker in their logs, which are on that disk, and lead on.
fn kept_up(disk: &BlockingDisk, up: &mut Up) {
    let struck = Struck::of(up);
    disk.block();
    let began = Mono::now();
    struck.strike(up);
    eventually("that nothing is written", SOON, || {
        let journal = up.status().1?.journal;
        (!journal.written && journal.why?.contains("the disk blocks for")).then_some(())
    });
    std::thread::sleep(BLOCKS.saturating_sub(Mono::now().since(began)));
    disk.go_on();
    eventually("that it is written again", SOON, || {
        up.status().1.filter(|picture| picture.journal.written)
    });
    up.await_health(Level::Led);
}

#[test]
fn a_topology_goes_on_while_its_disk_blocks() {
    let _turn = shared_turn();
    let disk = BlockingDisk::new();
    let mut up = Up::start_into("-f topologies/duo.yaml", &[], &disk.folder("up"));
    kept_up(&disk, &mut up);
    assert_eq!(up.status().1.unwrap().journal.lost, 0);
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    let facts = up.recording().facts;
    assert_eq!(holes(&facts), [], "{}", up.said());
    is_whole(&facts);
    nothing_is_left(up.state());
}
