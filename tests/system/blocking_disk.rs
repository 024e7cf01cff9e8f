//! A disk that blocks: heals, restarts, `status` and Ctrl-C go on meanwhile. What the queue held is
//! written when the disk is back; what it could not hold is a recorded hole. How long each takes
//! while a disk blocks, on a quiet host: `tests/measured/blocking_disk.rs`.

use std::time::Duration;

use rustix::process::Signal;
use support::blocking_disk::BlockingDisk;
use support::disk_blocks::{Struck, is_whole, paused};
use support::experiment::{Experiment, eventually, output, tandem};
use support::leftovers::{Family, is_stopped, see};
use support::up::{Up, nothing_is_left};
use tandem::live_view::Level;
use tandem::observation::{Fact, RunEvent, What};
use tandem::time::Mono;
use tandem::verdict::{Report, Verdict};

const SOON: Duration = Duration::from_secs(60);
/// The disk blocks before it is over, on any host.
const PAUSED: Duration = Duration::from_secs(20);

/// A member is paused for so long. Its folder is on the disk.
fn pause(disk: &BlockingDisk, lasts: &str) -> Experiment {
    let text = format!(
        "version: 1\nname: blocks\nrecover: {{within: 2m}}\nobjective: {{leaders_per_group: 0}}\n\
         method:\n  - {{id: p, at: 300ms, fault: pause, for: {lasts}, target: {{member: p1-1}}}}\n"
    );
    Experiment::of("blocks.yaml", &text).into(&disk.folder("blocks"))
}

/// How many facts each hole has.
fn holes(facts: &[Fact]) -> Vec<u64> {
    let hole = |fact: &Fact| match fact.what {
        What::Run(RunEvent::Unwritten { facts, .. }) => Some(facts),
        _ => None,
    };
    facts.iter().filter_map(hole).collect()
}

fn when(facts: &[Fact], wanted: fn(&What) -> bool) -> Option<Mono> {
    facts.iter().find(|fact| wanted(&fact.what)).map(|fact| fact.t)
}

fn is_in_force(what: &What) -> bool {
    matches!(what, What::Run(RunEvent::FaultInForce { .. }))
}

fn is_heal(what: &What) -> bool {
    matches!(what, What::Run(RunEvent::FaultHealed { .. }))
}

#[test]
fn a_pause_is_healed_while_the_disk_blocks_and_waiting_facts_are_written() {
    let disk = BlockingDisk::new();
    let run = pause(&disk, "20s").start();
    let pid = paused(&run);
    disk.block();
    assert!(is_stopped(pid), "the disk blocks in the middle of it");
    eventually("a member that is woken", SOON, || {
        see(pid).is_some_and(|one| !one.is_stopped()).then_some(())
    });
    assert_eq!(when(&run.facts(), is_heal), None, "the disk takes nothing");
    disk.go_on();
    let run = run.finish();
    let report = run.sound();
    assert!(report.reasons.iter().all(|why| !why.contains("disk")), "{run}");
    let facts = run.recording().facts;
    assert!(holes(&facts).is_empty(), "{run}");
    is_whole(&facts);
    let healed = when(&facts, is_heal).unwrap();
    assert!(healed.since(when(&facts, is_in_force).unwrap()) >= PAUSED, "{run}");
}

/// The controller waits for ten seconds, says what is not written, and ends as soon as the kernel
/// lets it.
#[test]
fn an_interrupt_ends_everything_while_the_disk_blocks_and_what_is_not_written_is_said() {
    let disk = BlockingDisk::new();
    let run = pause(&disk, "5m").start();
    paused(&run);
    let family = Family::of(&run);
    disk.block();
    run.signal(Signal::INT);
    // The kernel does not end a process that waits for this disk: the controller is still there.
    family.is_gone_but(&[run.pid()]);
    let said = || {
        let said = std::fs::read_to_string(run.stderr()).unwrap();
        said.contains("the disk blocks: ").then_some(())
    };
    eventually("that the journal is not written", SOON, said);
    disk.go_on();
    let run = run.finish();
    assert_eq!(run.code(), Some(4), "{run}");
    assert!(run.stderr.contains("facts were not written to"), "{run}");
}

/// The disk of a topology that is kept up blocks. A member and a broker die meanwhile: members warn
/// of the broker in their logs, which are on that disk, and lead on.
#[test]
fn a_topology_whose_queue_is_too_small_has_a_hole_and_goes_on() {
    let disk = BlockingDisk::new();
    let small = [("TANDEM_TEST_JOURNAL_QUEUE", "60000")];
    let mut up = Up::start_into("-f topologies/duo.yaml", &small, &disk.folder("up"));
    let struck = Struck::of(&up);
    disk.block();
    struck.strike(&up);
    eventually("that nothing is written, and the queue is full", SOON, || {
        let journal = up.status().1?.journal;
        (!journal.written && journal.why?.contains("the disk blocks for") && journal.lost > 0)
            .then_some(())
    });
    disk.go_on();
    let journal = eventually("that it is written again", SOON, || {
        up.status().1.map(|picture| picture.journal).filter(|journal| journal.written)
    });
    up.await_health(Level::Led);
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    // A disk that is slow for a moment may leave another one afterwards.
    let holes = holes(&up.recording().facts);
    assert!(journal.lost > 0 && holes.iter().sum::<u64>() >= journal.lost, "{holes:?}");
    let again = output(tandem(up.state()).arg("report").arg(&up.out).args(["-o", "json"]));
    let report: Report = serde_json::from_slice(&again.stdout).unwrap();
    assert_ne!(report.verdict, Verdict::Pass, "{:?}", report.reasons);
    let reported = report.reasons.iter().any(|why| why.contains("The disk did not take"));
    assert!(reported, "{:?}", report.reasons);
    nothing_is_left(up.state());
}
