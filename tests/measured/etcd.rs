//! A group that elects over etcd, beside one on Kafka, with real processes and a real etcd: gaps
//! are within the printed bounds, two never lead, and the loss of etcd is survived by the other.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;
use support::etcd::Etcd;
use support::exclusive::fences_rise;
use support::experiment::{Experiment, Finished};
use support::measured::{measured, require, turn};
use tandem::ids::{GroupName, PartitionId};
use tandem::observation::{Ending, Fact, What};
use tandem::time::Mono;

const LEASE: Duration = Duration::from_secs(2);

/// A step against the leader of a role of the group over etcd, three times.
fn experiment(etcd: &Etcd, name: &str, step: &str) -> Experiment {
    let text = format!(
        "version: 1\nname: {name}\ntrials: 3\ndisturbed: {{stall: 50ms}}\nmethod:\n  \
         - {{id: f, at: 500ms, jitter: 300ms, {step}, target: {{leader_of: any, group: p2}}}}\n\
         objective: {{joint_gap: 0s}}\nassert:\n  - group.gap.max <= bound.group.gap\n  \
         - group.overlap.max <= bound.group.overlap\n"
    );
    Experiment::of("etcd.yaml", &text).with(&etcd.mixed())
}

fn of_p2(facts: &[Fact]) -> Vec<Fact> {
    let of = |fact: &&Fact| {
        fact.life.as_ref().is_some_and(|life| life.member.as_str().starts_with("p2-"))
    };
    facts.iter().filter(of).cloned().collect()
}

/// The run passes, in p2 no two lead, fences rise, and the gaps are so long.
fn is_right(run: &Finished, gaps: std::ops::Range<u64>) -> Result<(), String> {
    require(run.code() == Some(0), || "it passes".to_owned())?;
    let timeline = run.timeline();
    let findings = &timeline.groups[&"p2".parse::<GroupName>().unwrap()].findings;
    require(findings.overlaps.is_empty(), || "no overlap".to_owned())?;
    let trials: BTreeSet<_> = findings.gaps.iter().map(|gap| gap.trial).collect();
    let found: Vec<_> = findings.gaps.iter().map(|gap| gap.span.length()).collect();
    let wanted = Duration::from_millis(gaps.start)..Duration::from_millis(gaps.end);
    require(found.iter().all(|gap| wanted.contains(gap)), || format!("gaps of {found:?}"))?;
    let each = gaps.start == 0 || trials.len() == 3;
    require(each, || format!("gaps in each trial, not in {trials:?}"))?;
    fences_rise(&of_p2(&run.recording().facts))
}

#[test]
fn a_killed_leader_is_replaced_when_its_lease_is_over() {
    let etcd = Etcd::up();
    let run = measured(
        || experiment(&etcd, "etcd-kill", "fault: kill"),
        |run| is_right(run, 1_700..2_760),
    );
    drop(run);
}

/// A member that leaves revokes its lease.
#[test]
fn a_leader_that_leaves_is_replaced_at_once() {
    let etcd = Etcd::up();
    let run =
        measured(|| experiment(&etcd, "etcd-leave", "fault: leave"), |run| is_right(run, 0..220));
    drop(run);
}

/// It wakes after its lease, and claims nothing any more.
#[test]
fn a_paused_leader_leads_no_more_when_it_wakes() {
    let etcd = Etcd::up();
    let run = measured(
        || experiment(&etcd, "etcd-pause", "fault: pause, for: 4s"),
        |run| is_right(run, 1_700..2_760),
    );
    drop(run);
}

/// All claims on the group over etcd, as of their last renewal, end by this.
fn last_end(facts: &[Fact]) -> Mono {
    let ends = facts.iter().flat_map(|fact| match &fact.what {
        What::Claimed { until, .. } => vec![*until],
        What::Renewed { claims } => claims.iter().map(|claim| claim.until).collect(),
        _ => Vec::new(),
    });
    ends.max().unwrap_or(Mono::ZERO)
}

#[test]
fn without_etcd_its_group_leads_until_its_lease_ends_and_the_other_goes_on() {
    let _turn = turn();
    let etcd = Etcd::up();
    let run = Experiment::calm("60s").with(&etcd.mixed()).start();
    run.await_facts("four claims", |facts| {
        let trial = facts.iter().any(|fact| matches!(fact.what, What::TrialBegan { .. }));
        let claimed = of_p2(facts).into_iter().filter_map(|fact| match fact.what {
            What::Claimed { partition, .. } => Some(partition),
            _ => None,
        });
        (trial && claimed.collect::<BTreeSet<PartitionId>>().len() == 4).then_some(())
    });
    etcd.kill();
    let killed = Mono::now();
    let ended = |facts: &[Fact]| {
        let since = |at: Mono, why: Ending| at > killed && why == Ending::Unproven;
        let unproven =
            |fact: &&Fact| matches!(fact.what, What::Lapsed { why, at, .. } if since(at, why));
        let lapsed = of_p2(facts).iter().filter(unproven).count();
        (lapsed == 4).then_some(())
    };
    run.await_facts("the end of four claims", ended);
    let unled = Mono::now() + LEASE;
    run.await_facts("a while without etcd", |facts| {
        facts.iter().any(|fact| fact.t > unled).then_some(())
    });
    run.signal(Signal::INT);
    let run = run.finish();
    let (recording, timeline) = (run.recording(), run.timeline());
    let end = last_end(&of_p2(&recording.facts));
    assert!(end <= killed + LEASE, "no claim of p2 outlasts the lease: {:?}", end.since(killed));
    let unconnected = |fact: &Fact| matches!(fact.what, What::Unconnected { .. });
    assert!(of_p2(&recording.facts).iter().any(unconnected), "members say that etcd is away");
    let gaps = |group: &str| &timeline.groups[&group.parse::<GroupName>().unwrap()].findings.gaps;
    assert!(!gaps("p2").is_empty() && gaps("p1").is_empty(), "{run}");
    assert!(timeline.joint.gaps.is_empty(), "{run}");
}
