//! The leader of a partition, cut off from its owner alone and from all: with members that join
//! their group themselves, which give way.

use std::collections::BTreeMap;
use std::time::Duration;

use tandem::ids::PartitionId;
use tandem::kafka::{Admin, Cluster};
use tandem::observation::What;

use super::partly::led_elsewhere;
use crate::clusters::{LARGE_ENOUGH, experiment, require};
use support::kafka::Kafka;

/// Which broker leads each partition.
fn leaders(kafka: &Kafka) -> BTreeMap<PartitionId, String> {
    let bootstrap = kafka.bootstraps[0].clone();
    let admin = Admin::new(&Cluster { bootstrap, ..Cluster::default() }).unwrap();
    let topic = "kafka-three-p1".parse().unwrap();
    let of = |partition| admin.leader(&topic, partition).unwrap().unwrap();
    (0..4).map(PartitionId).map(|partition| (partition, of(partition))).collect()
}

#[test]
fn a_partition_that_its_owner_does_not_reach_moves_and_one_that_is_dead_for_all_does_not() {
    // A busy machine must not end the brokers' own sessions as well.
    let kafka = Kafka::up(1, &["--brokers", "3", "--set", "broker.session.timeout.ms=9000"]);
    let (role, partition) = led_elsewhere(&kafka);
    let leaders = leaders(&kafka);
    let cut = |name: &str, target: &str, lasts: &str, claims: &str| {
        let step = format!(
            "{{id: c, at: 200ms, jitter: 300ms, fault: partition, for: {lasts}, \
             from: {{leader_of: {role}, group: p1}}, target: {target}}}"
        );
        let file = experiment(&kafka, name, 1, &[step], claims);
        ["-f", "topologies/kafka-three.yaml", "--set", LARGE_ENOUGH]
            .iter()
            .fold(vec![file], |run, more| [run, vec![(*more).to_owned()]].concat())
    };
    let bounded = "objective: {joint_gap: 0s}\nassert: [group.gap.max <= bound.group.gap]\n";
    let one = cut("one", &format!("{{leader_of: {role}, group: p1}}"), "20s", bounded);
    kafka.measured(&one.iter().map(String::as_str).collect::<Vec<_>>(), |_| {
        let gap = kafka.gaps(|group| group == "p1").into_iter().max().unwrap_or_default();
        let short = gap > Duration::ZERO && gap < Duration::from_secs(1);
        require(short, || format!("a gap of {gap:?} in a cut of 20 s"))
    });
    let all = cut("all", "{group: p1, mode: all}", "60s", "objective: {joint_gap: 0s}\n");
    kafka.measured(&all.iter().map(String::as_str).collect::<Vec<_>>(), |_| {
        // What the unreached broker leads has no leader. Of the rest nothing ever lapses.
        let facts = kafka.facts();
        let at = |wanted: &dyn Fn(&What) -> bool| {
            facts.iter().find(|it| wanted(&it.what)).map(|it| it.t)
        };
        let from = at(&|what| matches!(what, What::FaultInForce { .. }));
        let until = at(&|what| matches!(what, What::FaultHealed { .. }));
        let (from, until) = from.zip(until).ok_or("it is injected and healed")?;
        let dead = |k: &PartitionId| leaders[k] == leaders[&partition];
        let lapsed: Vec<PartitionId> = facts
            .iter()
            .filter(|fact| (from..until).contains(&fact.t))
            .filter(|fact| {
                fact.life.as_ref().is_some_and(|it| it.member.as_str().starts_with("p1-"))
            })
            .filter_map(|fact| match fact.what {
                What::Lapsed { partition, .. } => Some(partition),
                _ => None,
            })
            .collect();
        require(lapsed.iter().any(dead), || "the fault does something".to_owned())?;
        let others: Vec<_> = lapsed.iter().filter(|k| !dead(k)).collect();
        require(others.is_empty(), || format!("{others:?} lapse as well"))
    });
}
