//! The paper's rule for exclusive leadership, with real processes: where its conditions hold it
//! keeps its promise and its bounds, and where a clock breaks them the report shows two leaders.

use std::time::Duration;

use rustix::process::Signal;
use support::experiment::{Experiment, Finished, Running, signal_pid};
use support::measured::{measured, require, shared_turn};
use tandem::observation::{RunEvent, What};
use tandem::verdict::Verdict;

const ON: &str = "-f topologies/exclusive-paper.yaml";

const KILL: &str = "\
version: 1
name: paper-kill
trials: 3
method:
  - {id: k, at: 500ms, jitter: 300ms, fault: kill, target: {leader_of: any}}
objective: {group_gap: 10s, joint_gap: 10s}
assert:
  - group.gap.max <= bound.group.gap
  - group.overlap.max == 0ms
";

#[test]
fn a_killed_leader_costs_a_gap_within_its_bound_and_no_overlap() {
    let run = measured(
        || Experiment::of("paper-kill.yaml", KILL).with(ON),
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            for of in run.timeline().groups.values() {
                let gaps = of.findings.gaps.len();
                require(gaps >= 3, || format!("a gap in each trial, not {gaps}"))?;
                require(of.findings.overlaps.is_empty(), || "no overlap".to_owned())?;
            }
            Ok(())
        },
    );
    let Some(run) = run else { return };
    assert_eq!(run.report().trials, 3, "{run}");
}

/// The clock of a member is 4 s behind, and the test stops the member meanwhile: it believes in a
/// message for 4.5 s, and its successor leads after two.
const BEHIND: &str = "\
version: 1
name: paper-clock
method:
  - {id: c, at: 500ms, fault: clock, for: 8s, behind: 4s, target: {member: p1-1}}
objective: {group_gap: 20s, joint_gap: 20s}
";

/// Waits until the clock is wrong; the process of the member.
fn behind(run: &Running) -> u32 {
    run.await_facts("a wrong clock", |facts| {
        facts.iter().find(|fact| matches!(fact.what, What::Run(RunEvent::FaultInForce { .. })))?;
        facts.iter().find_map(|fact| match (&fact.what, &fact.life) {
            (What::Run(RunEvent::Started { pid, .. }), Some(life)) => {
                (life.member.as_str() == "p1-1").then_some(*pid)
            }
            _ => None,
        })
    })
}

/// Starts it, and stops the member for a planted time.
fn stopped_with_a_wrong_clock() -> Finished {
    let _turn = shared_turn();
    let run = Experiment::of("paper-clock.yaml", BEHIND).with(ON).start();
    let pid = behind(&run);
    // A few messages reach it under that clock.
    std::thread::sleep(Duration::from_millis(500));
    signal_pid(pid, Signal::STOP);
    std::thread::sleep(Duration::from_secs(4));
    signal_pid(pid, Signal::CONT);
    run.finish()
}

#[test]
fn a_clock_that_is_behind_gives_two_leaders_and_the_report_says_so() {
    let run = stopped_with_a_wrong_clock();
    let report = run.report();
    assert_eq!((run.code(), report.verdict), (Some(3), Verdict::Fail), "{run}");
    let timeline = run.timeline();
    let overlaps = timeline.groups.values().flat_map(|of| &of.findings.overlaps);
    let longest = overlaps.map(|one| one.span.length().as_millis()).max().unwrap_or(0);
    // Measured: 2,440 ms.
    assert!((500..=4_500).contains(&longest), "{longest} ms\n{run}");
    let said = |why: &String| why.contains("the paper's rule promises one, and broke its promise");
    assert!(report.reasons.iter().any(said), "{:?}", report.reasons);
}
