//! A group that elects among its members, beside one by NELI on an embedded broker, with real
//! processes: a second process of a member takes no part, none leads without a majority, and the
//! group outlives the broker, which it does not need.

use std::time::Duration;

use support::exclusive::fences_rise;
use support::experiment::{Experiment, Finished};
use support::measured::{measured, require};
use support::mixed::{LEADER, of_p2, three_times};
use tandem::ids::GroupName;

const MIXED: &str = "-f topologies/mixed.yaml";

/// A step three times, against the leader of a role of the group that elects among its members.
fn experiment(name: &str, step: &str) -> Experiment {
    three_times("generation.yaml", name, step).with(MIXED)
}

/// A second process with the name of a member waits until the first has ended.
#[test]
fn a_second_process_of_a_leader_takes_no_part() {
    let run = || experiment("generation-twin", &format!("fault: duplicate, for: 2s, {LEADER}"));
    let is_right = |run: &Finished| {
        require(run.code() == Some(0), || "it passes".to_owned())?;
        let timeline = run.timeline();
        let findings = &timeline.groups[&"p2".parse::<GroupName>().unwrap()].findings;
        require(findings.gaps.is_empty(), || format!("gaps: {:?}", findings.gaps))?;
        require(findings.overlaps.is_empty(), || format!("overlaps: {:?}", findings.overlaps))?;
        require(timeline.joint.gaps.is_empty(), || "no joint gap".to_owned())?;
        fences_rise(&of_p2(&run.recording().facts))
    };
    drop(measured(run, is_right));
}

/// Two of three are no more: none leads until one has come back, and been silent for a session.
#[test]
fn without_a_majority_none_leads_and_then_one_does() {
    let step = "fault: kill, target: {group: p2, mode: majority}, restart_after: 2s";
    let run = || experiment("generation-majority", step);
    let is_right = |run: &Finished| {
        require(run.code() == Some(0), || "it passes".to_owned())?;
        let timeline = run.timeline();
        let findings = &timeline.groups[&"p2".parse::<GroupName>().unwrap()].findings;
        require(findings.overlaps.is_empty(), || "no overlap".to_owned())?;
        let found: Vec<_> = findings.gaps.iter().map(|gap| gap.span.length()).collect();
        println!("gaps of p2: {found:?}");
        let longest = found.iter().max().copied().unwrap_or_default();
        require(longest >= Duration::from_secs(3), || format!("gaps of {found:?}"))?;
        fences_rise(&of_p2(&run.recording().facts))
    };
    drop(measured(run, is_right));
}

/// The broker is gone for three seconds: p1 has gaps, p2 leads on, and the joint gap is none.
#[test]
fn without_any_broker_the_group_that_needs_none_leads_on() {
    let step = "fault: broker, target: {cluster: a}, restart_after: 3s";
    let run = || experiment("generation-no-broker", step);
    let is_right = |run: &Finished| {
        require(run.code() == Some(0), || "it passes".to_owned())?;
        let timeline = run.timeline();
        let gaps =
            |group: &str| &timeline.groups[&group.parse::<GroupName>().unwrap()].findings.gaps;
        let (p1, p2) = (gaps("p1").len(), gaps("p2").len());
        println!("{p1} gaps of p1, {p2} of p2");
        require(p1 > 0 && p2 == 0, || format!("{p1} gaps of p1, and {p2} of p2"))?;
        require(timeline.joint.gaps.is_empty(), || "no joint gap".to_owned())
    };
    drop(measured(run, is_right));
}
