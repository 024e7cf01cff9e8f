//! Members that leave, or end without leaving, and machines that die: what is seen from outside,
//! and what their groups miss.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test may fail loudly"
)]

mod support;

use std::time::Duration;

use support::described::members;
use support::experiment::{Experiment, Finished, Running, eventually};
use support::leftovers::{Family, addresses, family_in_trial, see};
use support::measured::{measured, require, turn};
use tandem::ids::Life;
use tandem::observation::{Fact, What};
use tandem::timeline::{Cause, Timeline};

/// Lengths of what faults made, of all groups, the shortest first.
fn lengths(run: &Finished) -> Vec<Duration> {
    let recording = run.recording();
    let timeline = Timeline::compute(&recording.header.plan, &recording.facts);
    let gaps = timeline.groups.values().flat_map(|group| &group.findings.gaps);
    let gaps = gaps.filter(|gap| matches!(gap.cause, Cause::Fault(_)));
    let mut all: Vec<_> = gaps.map(|gap| gap.span.length()).collect();
    all.sort_unstable();
    all
}

#[test]
fn a_leader_that_leaves_is_missed_for_a_rebalance_at_most() {
    let run = measured(
        || Experiment::new("chaos/leave-leader.yaml").with("--trials 5"),
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            let lengths = lengths(run);
            let p95 = lengths.get((lengths.len() * 95).div_ceil(100).saturating_sub(1));
            let least = Duration::from_millis(200);
            require(p95.is_none_or(|p95| *p95 <= least), || format!("gaps of {lengths:?}"))
        },
    );
    let facts = run.recording().facts;
    // It bites: whoever was asked has left by itself, and ended well.
    let asked =
        |fact: &&Fact| matches!(&fact.what, What::FaultAsked { kind, .. } if kind == "leave");
    let asked: Vec<&Life> =
        facts.iter().filter(asked).map(|it| it.life.as_ref().unwrap()).collect();
    assert_eq!(asked.len(), 5, "{run}");
    for life in asked {
        let of =
            |what: &What| facts.iter().any(|it| it.life.as_ref() == Some(life) && it.what == *what);
        assert!(of(&What::Leaving), "{life}\n{run}");
        assert!(of(&What::Died { signal: None, status: Some(0) }), "{life}\n{run}");
    }
}

#[test]
fn a_leader_that_stops_is_missed_for_a_session() {
    let run = measured(
        || Experiment::new("chaos/stop-leader.yaml").with("--trials 2"),
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            let lengths = lengths(run);
            let about = Duration::from_millis(850)..Duration::from_millis(1_300);
            let some = lengths.len() >= 2 && lengths.iter().all(|gap| about.contains(gap));
            require(some, || format!("gaps of about a session: {lengths:?}"))
        },
    );
    let left = |fact: &Fact| fact.what == What::Leaving && fact.t < run_end(&run);
    assert!(!run.recording().facts.iter().any(left), "nobody leaves: {run}");
}

/// When the last trial was over.
fn run_end(run: &Finished) -> tandem::time::Mono {
    let facts = run.recording().facts;
    let ended = |fact: &&Fact| matches!(fact.what, What::TrialEnded { .. });
    facts.iter().filter(ended).map(|fact| fact.t).max().unwrap()
}

/// Starts a run in which p1-1 goes by this fault for ten seconds; and its process.
fn one_goes(fault: &str) -> (Running, Family, u32) {
    let text = format!(
        "version: 1\nname: goes\nobjective: {{leaders_per_group: 0}}\nmethod:\n  - {{id: g, at: \
         4s, fault: {fault}, target: {{member: p1-1}}, restart_after: \
         10s}}\n"
    );
    // A session that is long enough to be looked at.
    let slow = "--set defaults.session=6s --set defaults.threshold=7s";
    let run = Experiment::of("goes.yaml", &text).with(slow).start();
    let family = family_in_trial(&run);
    let facts = run.facts();
    let pid = |fact: &Fact| match (&fact.life, &fact.what) {
        (Some(life), What::Started { pid }) if life.to_string() == "p1-1.1" => Some(*pid),
        _ => None,
    };
    let pid = facts.iter().find_map(pid).unwrap();
    assert!(see(pid).is_some(), "it runs");
    (run, family, pid)
}

const SOON: Duration = Duration::from_secs(20);

/// The group as its broker tells, whichever cluster came first.
fn group(broker: &str) -> Vec<String> {
    let mut all = members(broker, "duo-p1");
    all.extend(members(broker, "duo-p2"));
    all
}

/// Once the process has ended its group counts on it still, or not any more.
fn goes_and_comes_back(fault: &str, counted_on: bool) {
    let _turn = turn();
    let (run, family, pid) = one_goes(fault);
    eventually("the end of the process", SOON, || see(pid).is_none().then_some(()));
    let brokers = addresses(&run.facts());
    let listed = || -> Vec<String> { brokers.iter().flat_map(|broker| group(broker)).collect() };
    let first = listed();
    assert_eq!(first.contains(&"p1-1.1".to_owned()), counted_on, "{first:?}");
    let without = || (!listed().contains(&"p1-1.1".to_owned())).then_some(());
    eventually("a group without it", SOON, without);
    assert_eq!(listed().len(), 5, "{:?}", listed());
    let again = || listed().contains(&"p1-1.2".to_owned()).then_some(());
    eventually("its return", SOON, again);
    let run = run.finish();
    assert!(matches!(run.code(), Some(0 | 3)), "{run}");
    family.is_gone();
}

#[test]
fn a_member_that_leaves_is_gone_from_its_group_and_comes_back() {
    goes_and_comes_back("leave", false);
}

#[test]
fn a_member_that_stops_is_in_its_group_for_a_session_and_comes_back() {
    goes_and_comes_back("stop", true);
}

#[test]
fn a_machine_that_dies_takes_all_its_members_and_nobody_misses_them() {
    let run = measured(
        || Experiment::new("chaos/host-down.yaml").with("--trials 1"),
        |run| require(run.code() == Some(0), || "it passes".to_owned()),
    );
    let facts = run.recording().facts;
    let died = |fact: &&Fact| matches!(fact.what, What::Died { signal: Some(9), .. });
    let dead: Vec<String> =
        facts.iter().filter(died).map(|fact| fact.life.as_ref().unwrap().to_string()).collect();
    assert_eq!(dead.len(), 3, "{dead:?}\n{run}");
    assert!(dead.iter().all(|life| life[..2] == dead[0][..2]), "of one machine: {dead:?}");
    assert_eq!(run.report().joint.gap.count, 0, "{run}");
}
