//! Members of Apache Kafka itself that are cut off: from all brokers, which costs what the plan's
//! bounds say; from their coordinator, or from the leader of their partition, alone, which costs
//! what `deploy/kafka/README.md` tells. Needs Java 17 and Maven, and fails without them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test may fail loudly"
)]
mod kafka_support;

use std::time::Duration;

use kafka_support::{Kafka, longest_stall_ms};
use tandem::ids::{Life, PartitionId};
use tandem::kafka::{Admin, Cluster, TopicSettings};
use tandem::observation::{Fact, What};
use tandem::time::Span;
use tandem::verdict::Report;

/// A session is 1 s: at the least threshold a claim is over before another member takes over.
const TOO_SMALL: &str = "defaults.threshold=1001ms";
/// Above session, rebalance and first message: the bound of an isolation's gap is nothing.
const LARGE_ENOUGH: &str = "defaults.threshold=1500ms";

/// What is done to whoever leads a role, and what is claimed of it.
fn experiment(kafka: &Kafka, name: &str, trials: u32, what: &str, claims: &str) -> String {
    let file = kafka.folder.path().join(format!("{name}.yaml"));
    let text = format!(
        "version: 1\nname: {name}\ntrials: {trials}\nmethod:\n  - {{id: c, at: 500ms, jitter: \
         300ms, fault: partition, {what}}}\n{claims}"
    );
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn a_leader_without_brokers_is_missed_within_the_bound_or_never() {
    let kafka = Kafka::up(2, &[]);
    for behavior in ["drop", "stall"] {
        let what = format!("behavior: {behavior}, for: 2500ms, target: {{leader_of: any}}");
        let claims = "assert:\n  - joint.gap.max == 0ms\n  - group.gap.max <= bound.group.gap\n  \
                      - group.overlap.max <= bound.group.overlap\n";
        let file = experiment(&kafka, behavior, 3, &what, claims);
        for (threshold, missed) in [(TOO_SMALL, true), (LARGE_ENOUGH, false)] {
            let run = [file.as_str(), "-f", "topologies/kafka-duo.yaml", "--set", threshold];
            kafka.measured(&run, |report| {
                let gaps = count(report, |group| group.fault.gap.count);
                let overlaps = count(report, |group| group.fault.overlap.count);
                require((gaps > 0) == missed, || format!("{behavior}, {threshold}: {gaps} gaps"))?;
                // Others took over meanwhile, or nothing would have been tried.
                require(missed || overlaps >= 3, || format!("{overlaps} overlaps in 3 trials"))
            });
        }
    }
}

fn count(report: &Report, of: impl Fn(&tandem::verdict::GroupReport) -> u64) -> u64 {
    report.groups.values().map(of).sum()
}

/// For how long a member is cut off from one broker.
const CUT: Duration = Duration::from_secs(4);
const THRESHOLD: Duration = Duration::from_millis(1_500);
/// What a broker says reaches a member again so long after the heal, at the most: its client waits
/// up to 300 ms, reconnects, and asks again.
const BACK: Duration = Duration::from_millis(1_000);

#[test]
fn a_leader_without_one_broker_keeps_its_place_or_its_hearing_and_not_both() {
    // A busy machine must not end the brokers' own sessions as well.
    let set = ["--set", "broker.session.timeout.ms=9000"];
    let kafka = Kafka::up(1, &["--brokers", "3", set[0], set[1]]);
    let (role, partition) = led_elsewhere(&kafka);
    let objective = "objective: {joint_gap: 0s}\n";
    let cut = |from: &str| {
        let name = from.split('_').next().unwrap();
        let what = format!("from: {{{from}}}, for: 4s, target: {{leader_of: {role}, group: p1}}");
        let file = experiment(&kafka, name, 1, &what, objective);
        [file.as_str(), "-f", "topologies/kafka-three.yaml", "--set", LARGE_ENOUGH]
            .map(str::to_owned)
    };
    let run = cut("coordinator_of: p1");
    kafka.measured(&run.each_ref().map(String::as_str), |report| {
        // It hears its partition, believes on, and gives up when its client misses the coordinator:
        // a threshold later than that its claims are over, and others have led for long.
        let during = while_cut(&kafka.facts());
        require(during.lost, || "it gives up".to_owned())?;
        require(during.taken.contains(&partition), || format!("{:?}", during.taken))?;
        let gap = report.groups.values().filter_map(|group| group.fault.gap.max_ms);
        require(gap.count() == 0, || "no gap".to_owned())?;
        let overlap = report.joint.overlap.max_ms.unwrap_or_default();
        require(overlap > 0.0, || "an overlap".to_owned())
    });
    let run = cut(&format!("leader_of: {role}, group: p1"));
    kafka.measured(&run.each_ref().map(String::as_str), |report| {
        // It shows its coordinator that it lives, hears nothing, and nobody takes over.
        let during = while_cut(&kafka.facts());
        require(!during.lost && during.taken.is_empty(), || "nobody moves".to_owned())?;
        let gap = report.groups.values().filter_map(|group| group.fault.gap.max_ms);
        let gap = gap.fold(0.0, f64::max);
        let least = (CUT - THRESHOLD).as_secs_f64() * 1_000.0;
        let most = least + BACK.as_secs_f64() * 1_000.0 + longest_stall_ms(report);
        require((least..most).contains(&gap), || format!("{gap} ms, not {least} to {most}"))
    });
}

/// A role whose partition another broker leads than the one that coordinates the group, with a
/// topic that is there before the run.
fn led_elsewhere(kafka: &Kafka) -> (&'static str, PartitionId) {
    let name = "kafka-three-p1";
    let (topic, group) = (name.parse().unwrap(), name.parse().unwrap());
    let retention = Span(Duration::from_secs(60));
    let (replication, min_insync_replicas) = (Some(3), Some(2));
    let width = 4.try_into().unwrap();
    let settings = TopicSettings { width, replication, min_insync_replicas, retention };
    let bootstrap = kafka.bootstraps[0].clone();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _entered = runtime.enter();
    let admin = Admin::new(&Cluster { bootstrap, ..Cluster::default() }).unwrap();
    runtime.block_on(admin.create(&topic, settings)).unwrap();
    let coordinator = runtime.block_on(admin.coordinator(&group, &topic)).unwrap().unwrap();
    let roles = ["eurusd", "usdjpy", "xauusd", "brent"].into_iter().zip((0..).map(PartitionId));
    let elsewhere = |partition| admin.leader(&topic, partition).unwrap().unwrap() != coordinator;
    roles.into_iter().find(|(_, partition)| elsewhere(*partition)).unwrap()
}

/// What was told while a member was cut off.
struct During {
    /// The victim gave up, or lost, what it held.
    lost: bool,
    /// What others of its group began to lead.
    taken: Vec<PartitionId>,
}

fn while_cut(facts: &[Fact]) -> During {
    let first = |wanted: &dyn Fn(&What) -> bool| {
        let found = facts.iter().find(|fact| wanted(&fact.what)).unwrap();
        (found.t, found.life.clone())
    };
    let (from, victim) = first(&|what| matches!(what, What::FaultInForce { .. }));
    let (until, _) = first(&|what| matches!(what, What::FaultHealed { .. }));
    let within: Vec<_> = facts.iter().filter(|fact| (from..until).contains(&fact.t)).collect();
    let by = |fact: &Fact, itself: bool| {
        let life: Option<&Life> = fact.life.as_ref().filter(|_| (fact.life == victim) == itself);
        life.is_some_and(|life| life.member.as_str().starts_with("p1-"))
    };
    let lost = within.iter().any(|fact| {
        by(fact, true) && matches!(fact.what, What::Lost { .. } | What::Revoked { .. })
    });
    let taken = within.iter().filter_map(|fact| match fact.what {
        What::Claimed { partition, .. } if by(fact, false) => Some(partition),
        _ => None,
    });
    During { lost, taken: taken.collect() }
}

/// What must hold, and in words what does not.
fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}
