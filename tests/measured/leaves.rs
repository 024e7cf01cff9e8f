//! Members that leave, or end without leaving, and machines that die: what is seen from outside,
//! and what their groups miss.

use std::time::Duration;

use support::described::members;
use support::experiment::{Experiment, Finished, Running, eventually};
use support::leftovers::{addresses, family_in_trial, see};
use support::measured::{BRISK, measured, require, shared_turn};
use tandem::ids::Life;
use tandem::observation::{Fact, MemberEvent, RunEvent, What};
use tandem::timeline::Cause;

/// Lengths of what faults made, of all groups, the shortest first.
fn lengths(run: &Finished) -> Vec<Duration> {
    let timeline = run.timeline();
    let gaps = timeline.groups.values().flat_map(|group| &group.findings.gaps);
    let gaps = gaps.filter(|gap| matches!(gap.cause, Cause::Fault(_)));
    let mut all: Vec<_> = gaps.map(|gap| gap.span.length()).collect();
    all.sort_unstable();
    all
}

#[test]
fn a_leader_that_leaves_is_missed_for_a_rebalance_at_most() {
    let Some(run) = measured(
        || Experiment::new("chaos/leave-leader.yaml").with("--trials 4").with(BRISK),
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            let lengths = lengths(run);
            let p95 = lengths.get((lengths.len() * 95).div_ceil(100).saturating_sub(1));
            let least = Duration::from_millis(200);
            require(p95.is_none_or(|p95| *p95 <= least), || format!("gaps of {lengths:?}"))
        },
    ) else {
        return;
    };
    let facts = run.recording().facts;
    // The fault takes effect: each asked member left by itself, and ended cleanly.
    let asked = |fact: &&Fact| match &fact.what {
        What::Run(RunEvent::FaultAsked { kind, .. }) => kind == "leave",
        _ => false,
    };
    let asked: Vec<&Life> =
        facts.iter().filter(asked).map(|it| it.life.as_ref().unwrap()).collect();
    assert_eq!(asked.len(), run.played(), "{run}");
    for life in asked {
        let of =
            |what: &What| facts.iter().any(|it| it.life.as_ref() == Some(life) && it.what == *what);
        assert!(of(&What::Member(MemberEvent::Leaving)), "{life}\n{run}");
        assert!(of(&What::Run(RunEvent::Died { signal: None, status: Some(0) })), "{life}\n{run}");
    }
}

#[test]
fn a_leader_that_stops_is_missed_for_a_session() {
    let Some(run) = measured(
        || Experiment::new("chaos/stop-leader.yaml").with("--trials 2").with(BRISK),
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            let lengths = lengths(run);
            let about = Duration::from_millis(850)..Duration::from_millis(1_300);
            let some = lengths.len() >= 2 && lengths.iter().all(|gap| about.contains(gap));
            require(some, || format!("gaps of about a session: {lengths:?}"))
        },
    ) else {
        return;
    };
    let left =
        |fact: &Fact| fact.what == What::Member(MemberEvent::Leaving) && fact.t < run_end(&run);
    assert!(!run.recording().facts.iter().any(left), "no member leaves: {run}");
}

/// When the last trial was over.
fn run_end(run: &Finished) -> tandem::time::Mono {
    let facts = run.recording().facts;
    let ended = |fact: &&Fact| matches!(fact.what, What::Run(RunEvent::TrialEnded { .. }));
    facts.iter().filter(ended).map(|fact| fact.t).max().unwrap()
}

/// Two members of two groups go at once, in one way each, and come back. A session is long enough
/// to be looked at.
const GO: &str = "\
version: 1
name: go
objective: {leaders_per_group: 0}
method:
  - {id: l, at: 3s, fault: leave, target: {member: p1-1}, restart_after: 8s}
  - {id: s, at: 3s, fault: stop, target: {member: p2-1}, restart_after: 8s}
";
const SLOW: &str = "--set defaults.session=5s --set defaults.threshold=5500ms";

const SOON: Duration = Duration::from_secs(60);

/// The process of a life.
fn process(run: &Running, who: &str) -> u32 {
    let facts = run.facts();
    let pid = |fact: &Fact| match (&fact.life, &fact.what) {
        (Some(life), What::Run(RunEvent::Started { pid, .. })) if life.to_string() == who => {
            Some(*pid)
        }
        _ => None,
    };
    facts.iter().find_map(pid).unwrap()
}

#[test]
fn a_leaving_member_is_gone_and_a_stopped_one_stays_for_a_session_and_both_return() {
    let _turn = shared_turn();
    let run = Experiment::of("go.yaml", GO).with(SLOW).start();
    let family = family_in_trial(&run);
    let brokers = addresses(&run.facts());
    // The members of a group, whichever cluster came first.
    let listed = |group: &str| -> Vec<String> {
        brokers.iter().flat_map(|broker| members(broker, group)).collect()
    };
    let gone = [("duo-p1", "p1-1.1", false), ("duo-p2", "p2-1.1", true)];
    let pids = gone.map(|(_, who, _)| process(&run, who));
    assert!(pids.iter().all(|pid| see(*pid).is_some()), "they run");
    for ((group, who, counted_on), pid) in gone.into_iter().zip(pids) {
        eventually("the end of the process", SOON, || see(pid).is_none().then_some(()));
        let first = listed(group);
        assert_eq!(first.contains(&who.to_owned()), counted_on, "{who}: {first:?}");
    }
    for (group, who, _) in gone {
        let without = || (!listed(group).contains(&who.to_owned())).then_some(());
        eventually("a group without it", SOON, without);
        assert_eq!(listed(group).len(), 2, "{:?}", listed(group));
    }
    for (group, again) in [("duo-p1", "p1-1.2"), ("duo-p2", "p2-1.2")] {
        let back = || listed(group).contains(&again.to_owned()).then_some(());
        eventually("its return", SOON, back);
    }
    let run = run.finish();
    assert_eq!(run.code(), Some(0), "{run}");
    family.is_gone();
}

#[test]
fn a_dying_machine_takes_all_its_members_without_a_joint_gap() {
    let Some(run) = measured(
        || Experiment::new("chaos/host-down.yaml").with("--trials 1").with(BRISK),
        |run| require(run.code() == Some(0), || "it passes".to_owned()),
    ) else {
        return;
    };
    let facts = run.recording().facts;
    let died =
        |fact: &&Fact| matches!(fact.what, What::Run(RunEvent::Died { signal: Some(9), .. }));
    let dead: Vec<String> =
        facts.iter().filter(died).map(|fact| fact.life.as_ref().unwrap().to_string()).collect();
    assert_eq!(dead.len(), 3, "{dead:?}\n{run}");
    assert!(dead.iter().all(|life| life[..2] == dead[0][..2]), "of one machine: {dead:?}");
    assert_eq!(run.report().joint.gap.count, 0, "{run}");
}
