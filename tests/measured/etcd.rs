//! A group that elects over etcd, beside one on Kafka, with real processes and a real etcd that is
//! cut off, stopped or killed: gaps are within the printed bounds, two never lead, and the loss of
//! etcd is survived by the other.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;
use support::etcd::Etcd;
use support::experiment::Experiment;
use support::measured::{shared_turn, turn};
use support::mixed::of_p2;
use support::stores::{
    etcds_stopped_in_turn, gaps, isolated_from_etcd, unexplained_gaps, unexplained_joint_gaps,
};
use tandem::ids::PartitionId;
use tandem::observation::{Ending, Fact, MemberEvent, RunEvent, What};
use tandem::time::Mono;

const LEASE: Duration = Duration::from_secs(2);

/// S = 2000 + x = 540 + B = F = 60, and a = 230 longer than T = 1980; and a stall.
#[test]
fn a_leader_that_is_cut_off_stops_before_another_leads() {
    let _turn = turn();
    isolated_from_etcd(3, Duration::from_millis(910 + 50));
}

/// A member leaves a server that does not answer; a new leader of the cluster knows the leases.
#[test]
fn a_cluster_of_etcd_whose_servers_are_stopped_in_turn_has_one_leader_a_role() {
    let _turn = shared_turn();
    let gaps = etcds_stopped_in_turn(3, Duration::from_secs(3));
    // An election of etcd, and what a takeover takes.
    assert!(gaps.iter().all(|gap| *gap < Duration::from_secs(5)), "{gaps:?}");
}

/// All claims on the group over etcd, as of their last renewal, end by this.
fn last_end(facts: &[Fact]) -> Mono {
    let ends = facts.iter().flat_map(|fact| match &fact.what {
        What::Member(MemberEvent::Claimed { until, .. }) => vec![*until],
        What::Member(MemberEvent::Renewed { claims }) => {
            claims.iter().map(|claim| claim.until).collect()
        }
        _ => Vec::new(),
    });
    ends.max().unwrap_or(Mono::ZERO)
}

#[test]
fn without_etcd_its_group_leads_until_its_lease_ends_and_the_other_goes_on() {
    let _turn = shared_turn();
    let etcd = Etcd::up();
    let run = Experiment::calm("60s").with(&etcd.mixed()).start();
    run.await_facts("four claims", |facts| {
        let trial =
            facts.iter().any(|fact| matches!(fact.what, What::Run(RunEvent::TrialBegan { .. })));
        let claimed = of_p2(facts).into_iter().filter_map(|fact| match fact.what {
            What::Member(MemberEvent::Claimed { partition, .. }) => Some(partition),
            _ => None,
        });
        (trial && claimed.collect::<BTreeSet<PartitionId>>().len() == 4).then_some(())
    });
    etcd.kill();
    let killed = Mono::now();
    let ended = |facts: &[Fact]| {
        let since = |at: Mono, why: Ending| at > killed && why == Ending::Unproven;
        let unproven = |fact: &&Fact| {
            matches!(fact.what, What::Member(MemberEvent::Lapsed { why, at, .. })
                if since(at, why))
        };
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
    let unconnected =
        |fact: &Fact| matches!(fact.what, What::Member(MemberEvent::Unconnected { .. }));
    assert!(of_p2(&recording.facts).iter().any(unconnected), "members say that etcd is away");
    assert!(!gaps(&run, "p2").is_empty(), "{run}");
    assert_eq!(unexplained_gaps(&run, "p1"), [], "{run}");
    assert_eq!(unexplained_joint_gaps(&timeline), [], "{run}");
}
