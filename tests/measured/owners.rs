//! Groups in which the owners of a partition publish on it, and the others rarely: a death, a join
//! and a leave cost what they cost where all publish, and the ledger gets what the plan says.

use std::cell::RefCell;
use std::time::Duration;

use support::beacons::{await_peace, published, word};
use support::experiment::{Experiment, Finished};
use support::leftovers::{addresses, family_in_trial};
use support::measured::{BRISK, measured, measured_together, require};
use tandem::journal;
use tandem::observation::{Ending, Fact, MemberEvent, What};
use tandem::timeline::{Cause, Finding};
use tandem::topology::{Beacons, Load};

const OWNERS: &str = "--set defaults.beacons=owners";

/// A leader dies and comes back: a death, and a join.
const KILL: &str = "\
version: 1
name: kill-among-owners
trials: 4
disturbed: {stall: 50ms}
method:
  - {id: k, at: 500ms, jitter: 300ms, fault: kill, target: {leader_of: any}}
objective: {group_gap: 5s}
assert:
  - group.gap.max <= bound.group.gap
  - group.overlap.max <= bound.group.overlap
";

/// Nothing happens, for long enough to count: the broker ends with the run. Peace takes three
/// seconds, and those three more, if one learns late of a change.
const PEACE: &str = "\
version: 1
name: peace
disturbed: {stall: 50ms}
method:
  - {id: nothing, fault: noop, for: 16s}
objective: {group_gap: 0s}
assert: [group.gap.count == 0, group.overlap.count == 0]
";
/// Six rounds over all partitions.
const COUNTED: Duration = Duration::from_secs(3);

fn lengths<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<Duration> {
    findings.map(|finding| finding.span.length()).collect()
}

/// How many claims ended in the trials because another member stated that it leads, and how many
/// because the ledger was silent for `T`.
fn ended(run: &Finished) -> (usize, usize) {
    let trials = run.timeline().record.trials;
    let in_trial = |fact: &Fact| trials.iter().any(|trial| trial.window.contains(fact.t));
    let facts: Vec<Fact> = run.recording().facts.into_iter().filter(in_trial).collect();
    let of = |wanted: Ending| {
        let why = |fact: &Fact| match fact.what {
            What::Member(MemberEvent::Lapsed { why, .. }) => Some(why),
            _ => None,
        };
        facts.iter().filter_map(why).filter(|why| *why == wanted).count()
    };
    (of(Ending::HandedOver), of(Ending::Silence))
}

#[test]
fn a_death_and_a_join_stay_within_the_bounds() {
    let Some(run) = measured(
        || {
            Experiment::of("kill.yaml", KILL)
                .with("-f topologies/solo.yaml")
                .with(OWNERS)
                .with(BRISK)
        },
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            let timeline = run.timeline();
            let group = timeline.groups.values().next().unwrap();
            let gaps = &group.findings.gaps;
            let gaps = lengths(gaps.iter().filter(|gap| matches!(gap.cause, Cause::Fault(_))));
            let about = Duration::from_millis(850)..Duration::from_millis(1_300);
            let all = !gaps.is_empty() && gaps.iter().all(|gap| about.contains(gap));
            require(all, || format!("gaps of about a session: {gaps:?}"))?;
            // A role that moved to the one that came back, and was not handed over.
            let bounds = &run.recording().header.plan.groups["p1"].bounds;
            let most = bounds.restart.overlap.high.get();
            let overlaps = lengths(group.findings.overlaps.iter());
            let short = overlaps.iter().all(|overlap| *overlap <= most);
            require(short && most < Duration::from_millis(200), || {
                format!("overlaps of {overlaps:?}, bound {most:?}")
            })
        },
    ) else {
        return;
    };
    let (handed_over, silent) = ended(&run);
    let trials = run.timeline().record.trials.len();
    assert!(handed_over >= trials && silent == 0, "{handed_over} handed over, {silent} not: {run}");
}

#[test]
fn leaves_and_joins_are_handed_over_without_a_gap() {
    let run = measured(
        || {
            Experiment::new("chaos/rolling-restart.yaml")
                .with("--trials 1")
                .with(OWNERS)
                .with(BRISK)
        },
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            let timeline = run.timeline();
            let gaps = lengths(timeline.groups.values().flat_map(|of| &of.findings.gaps));
            require(gaps.is_empty(), || format!("no gap, not {gaps:?}"))
        },
    );
    if let Some(run) = run {
        let (handed_over, silent) = ended(&run);
        assert!(handed_over >= 6 && silent == 0, "{handed_over} handed over, {silent} not: {run}");
    }
}

#[test]
fn the_ledger_gets_as_many_beacons_as_the_plan_says() {
    for beacons in [Beacons::All, Beacons::Owners] {
        let counted = RefCell::new(None);
        let play = || {
            let set = format!(
                "-f topologies/solo.yaml --set groups.p1.partitions=16 --set defaults.beacons={}",
                word(beacons)
            );
            let run = Experiment::of("peace.yaml", PEACE).with(&set).with(BRISK).start();
            let _family = family_in_trial(&run);
            let plan = journal::read(&run.journal()).unwrap().header.plan;
            let group = &plan.groups["p1"];
            await_peace(group, || run.facts());
            let address = addresses(&run.facts()).remove(0);
            let rates = published(&address, group, COUNTED);
            let [ours, other] = [beacons, beacons.other()].map(|it| Load::of(&plan, group, it));
            *counted.borrow_mut() = Some((rates, ours.messages, other.messages));
            [run.finish()]
        };
        let run = measured_together(play, |[run]| {
            require(run.code() == Some(0), || "nothing is found".to_owned())
        });
        let (rates, planned, other) = counted.take().unwrap();
        let all: f64 = rates.values().sum();
        println!("{beacons:?}: {all:.0} beacons/s, planned {planned:.0}");
        if run.is_none() {
            continue;
        }
        let near = |planned: f64| (all - planned).abs() <= planned / 10.0;
        assert!(near(planned) && !near(other), "{beacons:?}: {all}, planned {planned}: {rates:?}");
        // No partition dries up, and none has more than its share.
        let share = planned / 16.0;
        let even = rates.values().all(|rate| (rate - share).abs() <= share / 4.0);
        assert!(even, "{beacons:?}: {share} on each, not {rates:?}");
    }
}
