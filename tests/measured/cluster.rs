//! Whole experiments, with real processes and brokers: what Tandem promises, it measures.
//!
//! Measurements are made once, side by side where they bear others; trials that the host disturbed
//! are left out by the rule that the experiment states. The seed of each is printed.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use support::described::{assignments, settled_claims};
use support::experiment::{Experiment, Finished, Running};
use support::leftovers::addresses;
use support::measured::{BRISK, measured, measured_alone, measured_together, require, shared_turn};
use support::{naive, twin};
use tandem::ids::{GroupName, Life, PartitionId};
use tandem::observation::{Fact, MemberEvent, RunEvent, What};
use tandem::time::Mono;
use tandem::timeline::{Cause, Finding, Interval, Timeline};
use tandem::topology::PlannedGroup;
use tandem::verdict::Report;

/// The gaps of all groups that faults caused.
fn faults(timeline: &Timeline) -> Vec<&Finding> {
    let gaps = timeline.groups.values().flat_map(|group| &group.findings.gaps);
    gaps.filter(|gap| matches!(gap.cause, Cause::Fault(_))).collect()
}

fn median(lengths: impl Iterator<Item = Duration>) -> Duration {
    let mut all: Vec<_> = lengths.collect();
    all.sort_unstable();
    all[all.len().div_ceil(2) - 1]
}

fn ms(number: f64) -> Duration {
    Duration::from_secs_f64(number / 1_000.0)
}

/// Every group gap is within its printed bound, or as much too long as the host stood still in it.
fn gaps_are_within_their_bounds(timeline: &Timeline, report: &Report) -> Result<(), String> {
    for (name, group) in &timeline.groups {
        let limit = ms(report.bounds[name].kill.gap_ms[1]);
        for gap in &group.findings.gaps {
            let stalls = timeline.record.stalls.iter().map(|stall| stall.intersect(gap.span));
            let stalled: Duration = stalls.map(Interval::length).sum();
            let length = gap.span.length();
            require(length <= limit + stalled, || {
                format!("{name}: a gap of {length:?}, above {limit:?} and stalls of {stalled:?}")
            })?;
        }
    }
    Ok(())
}

/// Leaders die one after the other.
fn killed_leaders(args: &str) -> Experiment {
    Experiment::new("chaos/kill-leader.yaml").with("--trials 3").with(args)
}

/// What a role misses in its group is so many milliseconds at the median.
fn are_missed_for(p50: std::ops::Range<u64>, run: &Finished) -> Result<(), String> {
    let (report, timeline) = (run.report(), run.timeline());
    require(run.code() == Some(0), || "it passes".to_owned())?;
    let gaps = faults(&timeline);
    let trials: BTreeSet<_> = gaps.iter().map(|gap| gap.trial).collect();
    require(trials.len() == 3, || format!("gaps in all trials, not in {trials:?}"))?;
    gaps_are_within_their_bounds(&timeline, &report)?;
    let median = median(gaps.iter().map(|gap| gap.span.length()));
    let wanted = Duration::from_millis(p50.start)..Duration::from_millis(p50.end);
    require(wanted.contains(&median), || format!("a median of {median:?}"))
}

fn cause_no_joint_gap(run: &Finished) {
    let report = run.report();
    assert_eq!((report.joint.gap.count, report.trials), (0, 3), "{run}");
    assert!(report.joint.leaders_min >= Some(1), "{run}");
    is_judged_alike_again(run);
    twins_agree(run);
}

#[test]
fn a_killed_leader_is_replaced_after_about_a_session_without_a_joint_gap() {
    let Some(run) = measured(|| killed_leaders(BRISK), |run| are_missed_for(850..1_300, run))
    else {
        return;
    };
    cause_no_joint_gap(&run);
}

#[test]
fn a_session_of_300_ms_makes_gaps_of_300_ms() {
    let args = "--set defaults.session=300ms --set defaults.restart.after=600ms";
    let Some(run) = measured_alone(|| killed_leaders(args), |run| are_missed_for(200..400, run))
    else {
        return;
    };
    cause_no_joint_gap(&run);
}

#[test]
fn a_session_of_100_ms_makes_gaps_of_100_ms() {
    let args = "--set defaults.session=100ms --set defaults.heartbeat=30ms \
                --set defaults.restart.after=300ms";
    let Some(run) = measured_alone(|| killed_leaders(args), |run| are_missed_for(60..150, run))
    else {
        return;
    };
    cause_no_joint_gap(&run);
}

/// `tandem report` computes everything again from the journal alone.
fn is_judged_alike_again(run: &Finished) {
    let _turn = shared_turn();
    let (before, code) = (run.result(), run.code());
    std::fs::write(run.out.join("result.json"), "").unwrap();
    let again = run.judged_again();
    assert_eq!(again.status.code(), code, "{run}");
    assert_eq!(run.result(), before, "{run}");
    assert_eq!(String::from_utf8_lossy(&again.stdout), run.stdout, "{run}");
}

/// A second, naive computation of the gaps agrees to the nanosecond.
fn twins_agree(run: &Finished) {
    let _turn = shared_turn();
    let recording = run.recording();
    let (plan, facts) = (&recording.header.plan, &recording.facts);
    assert_eq!(twin::gaps(plan, facts), naive::gaps(plan, facts), "{run}");
}

#[test]
fn leaders_that_die_in_all_groups_at_once_are_missed_for_about_a_session() {
    let Some(run) = measured(
        || Experiment::new("chaos/twin-kill.yaml").with("--trials 2").with(BRISK),
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            let timeline = run.timeline();
            gaps_are_within_their_bounds(&timeline, &run.report())?;
            let gaps = &timeline.joint.gaps;
            let trials: BTreeSet<_> = gaps.iter().map(|gap| gap.trial).collect();
            require(trials.len() == 2, || format!("joint gaps in each trial: {trials:?}"))?;
            let about = Duration::from_millis(700)..Duration::from_millis(1_300);
            require(gaps.iter().all(|gap| about.contains(&gap.span.length())), || {
                format!("joint gaps of about a session: {gaps:?}")
            })
        },
    ) else {
        return;
    };
    is_judged_alike_again(&run);
    twins_agree(&run);
}

#[test]
fn a_run_without_faults_has_no_findings() {
    let Some(run) = measured(
        || Experiment::calm("20s"),
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            let facts = run.recording().facts;
            let trial = run.timeline().record.trials[0].window;
            require(trial.length() >= Duration::from_secs(20), || format!("{trial:?}"))?;
            let regrouped = |fact: &&Fact| {
                let what = &fact.what;
                let moved = matches!(
                    what,
                    What::Member(MemberEvent::Assigned { .. } | MemberEvent::Revoked { .. })
                );
                trial.contains(fact.t)
                    && (moved || matches!(what, What::Member(MemberEvent::Lost { .. })))
            };
            let moved: Vec<_> = facts.iter().filter(regrouped).collect();
            require(moved.is_empty(), || format!("a rebalance: {moved:?}"))
        },
    ) else {
        return;
    };
    let report = run.report();
    for (name, group) in &report.groups {
        for measures in [group.fault, group.other.restart, group.other.none] {
            let counts = [measures.gap, measures.overlap, measures.takeover].map(|of| of.count);
            assert_eq!(counts, [0; 3], "{name}: {run}");
        }
    }
    assert_eq!((report.joint.gap.count, report.joint.overlap.count), (0, 0), "{run}");
    assert_eq!(report.joint.leaders_min, Some(2), "{run}");
    assert!(report.unknown_ms.abs() < 1e-6, "{run}");
    is_judged_alike_again(&run);
}

#[test]
fn a_leader_that_sleeps_for_three_sessions_is_replaced_and_wakes_as_a_second_one() {
    let Some(run) = measured(
        || Experiment::new("chaos/pause-leader.yaml").with("--trials 2"),
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            let (report, timeline) = (run.report(), run.timeline());
            for (name, group) in &timeline.groups {
                let bound = &report.bounds[name].pause;
                let spans = [(&group.findings.gaps, bound.gap_ms[1])];
                let spans =
                    spans.into_iter().chain([(&group.findings.overlaps, bound.overlap_ms[1])]);
                for (found, limit) in spans {
                    let longest = found.iter().map(|one| one.span.length()).max();
                    let fits = longest.unwrap_or_default() <= ms(limit);
                    require(fits, || format!("{name}: {longest:?} above {limit} ms"))?;
                }
            }
            let trials: BTreeSet<_> = faults(&timeline).iter().map(|gap| gap.trial).collect();
            require(trials.len() == 2, || format!("gaps in each trial: {trials:?}"))
        },
    ) else {
        return;
    };
    assert_eq!(run.report().joint.gap.count, 0, "{run}");
    is_judged_alike_again(&run);
    twins_agree(&run);
}

#[test]
fn the_other_topologies_run_as_well() {
    for topology in ["trio", "shared-topic"] {
        let file = format!("--trials 1 -f topologies/{topology}.yaml {BRISK}");
        let Some(run) = measured(
            || Experiment::new("chaos/kill-leader.yaml").with(&file),
            |run| require(run.code() == Some(0), || "it passes".to_owned()),
        ) else {
            continue;
        };
        let report = run.report();
        assert_eq!(report.topology.as_str(), topology);
        let others = i64::try_from(report.groups.len()).unwrap() - 1;
        assert_eq!(report.joint.leaders_min, Some(others), "{run}");
        twins_agree(&run);
    }
}

#[test]
fn the_broker_and_the_members_agree_on_assignments() {
    let mut described = (Described::new(), Mono::ZERO);
    let Some(run) = measured_together(
        || {
            let run = Experiment::calm("10s").with_rule().start();
            described = describe(&run);
            [run.finish()]
        },
        |[run]| require(run.code() == Some(0), || "it passes".to_owned()),
    ) else {
        return;
    };
    let (run, (described, asked)) = (&run[0], described);
    let timeline = run.timeline();
    assert!(timeline.record.trials[0].window.contains(asked), "asked within the trial: {run}");
    assert_eq!(described.len(), 2, "both groups of duo");
    for (name, described) in &described {
        assert_eq!(described.len(), 4, "{name}: {described:?}");
        assert_eq!(*described, settled_claims(&timeline.groups[name], asked), "{name}: {run}");
    }
}

type Described = BTreeMap<GroupName, BTreeMap<PartitionId, Life>>;

/// All groups, as their brokers describe them while nothing disturbs them.
fn describe(run: &Running) -> (Described, Mono) {
    let facts = run.await_facts("a trial", |facts| {
        let began =
            facts.iter().any(|fact| matches!(fact.what, What::Run(RunEvent::TrialBegan { .. })));
        began.then(|| facts.to_vec())
    });
    let address = |fact: &Fact| match &fact.what {
        What::Run(RunEvent::ClusterStarted { cluster, address, .. }) => {
            Some((cluster.clone(), address.clone()))
        }
        _ => None,
    };
    let brokers: BTreeMap<_, _> = facts.iter().filter_map(address).collect();
    let plan = tandem::journal::read(&run.journal()).unwrap().header.plan;
    let described = |(name, group): (&GroupName, &PlannedGroup)| {
        (name.clone(), assignments(&brokers[&group.cluster], group))
    };
    (plan.groups.iter().map(described).collect(), Mono::now())
}

#[test]
fn two_runs_at_once_do_not_disturb_each_other() {
    let order = || Experiment::new("chaos/kill-leader.yaml").with("--trials 1").with(BRISK);
    let start = || order().with_rule().start();
    let Some(runs) = measured_together(
        || [start(), start()].map(Running::finish),
        |runs| require(runs.iter().all(|run| run.code() == Some(0)), || "both pass".to_owned()),
    ) else {
        return;
    };
    let ports = runs.each_ref().map(|run| addresses(&run.recording().facts));
    assert!(ports[0].iter().all(|port| !ports[1].contains(port)), "{ports:?}");
    for run in &runs {
        assert_eq!((run.report().trials, run.report().joint.gap.count), (1, 0), "{run}");
        is_judged_alike_again(run);
    }
}
