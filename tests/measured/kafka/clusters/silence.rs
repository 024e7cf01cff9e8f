//! The leader of a partition, cut off from its owner alone and from all: with members that join
//! their group themselves, which give way.

use std::collections::BTreeMap;
use std::time::Duration;

use tandem::ids::PartitionId;
use tandem::kafka::{Admin, Cluster};
use tandem::observation::{MemberEvent, RunEvent, What};

use super::partly::{leader, led_elsewhere};
use super::{LARGE_ENOUGH, experiment, require};
use support::kafka::Kafka;

/// Which broker leads each partition.
fn leaders(kafka: &Kafka) -> BTreeMap<PartitionId, String> {
    let bootstrap = kafka.bootstraps[0].clone();
    let admin = Admin::new(&Cluster { bootstrap, ..Cluster::default() }).unwrap();
    let topic = "kafka-three-p1".parse().unwrap();
    let of = |partition| (partition, leader(&admin, &topic, partition));
    (0..4).map(PartitionId).map(of).collect()
}

/// One leader's partition, cut off from some for a while: the run's arguments.
struct Cut {
    kafka: Kafka,
    role: String,
    partition: PartitionId,
}

impl Cut {
    fn begin() -> Self {
        let kafka = Kafka::three_brokers();
        let (role, partition) = led_elsewhere(&kafka);
        Self { kafka, role: role.to_string(), partition }
    }

    /// Runs it against `target` and judges the run, if the host did not disturb it.
    fn from(&self, target: &str, lasts: &str, claims: &str, judge: Judge<'_>) {
        let step = format!(
            "{{id: c, at: 200ms, jitter: 300ms, fault: partition, for: {lasts}, \
             from: {{leader_of: {}, group: p1}}, target: {target}}}",
            self.role
        );
        let file = experiment(&self.kafka, "cut", 1, &[step], claims);
        let run = [&file, "-f", "topologies/kafka-three.yaml", "--set", LARGE_ENOUGH];
        self.kafka.measured(&run, |_| judge());
    }
}

type Judge<'a> = &'a dyn Fn() -> Result<(), String>;

#[test]
fn a_partition_that_its_owner_does_not_reach_moves() {
    let cut = Cut::begin();
    let owner = format!("{{leader_of: {}, group: p1}}", cut.role);
    let bounded = "objective: {joint_gap: 0s}\nassert: [group.gap.max <= bound.group.gap]\n";
    cut.from(&owner, "20s", bounded, &|| {
        let gap = cut.kafka.gaps(|group| group == "p1").into_iter().max().unwrap_or_default();
        let short = gap > Duration::ZERO && gap < Duration::from_secs(1);
        require(short, || format!("a gap of {gap:?} in a cut of 20 s"))
    });
}

#[test]
fn a_partition_that_is_dead_for_all_does_not_move_and_takes_no_other_along() {
    let cut = Cut::begin();
    let leaders = leaders(&cut.kafka);
    cut.from("{group: p1, mode: all}", "60s", "objective: {joint_gap: 0s}\n", &|| {
        // What the unreached broker leads has no leader. Of the rest nothing ever lapses.
        let facts = cut.kafka.facts();
        let at = |wanted: &dyn Fn(&What) -> bool| {
            facts.iter().find(|it| wanted(&it.what)).map(|it| it.t)
        };
        let from = at(&|what| matches!(what, What::Run(RunEvent::FaultInForce { .. })));
        let until = at(&|what| matches!(what, What::Run(RunEvent::FaultHealed { .. })));
        let (from, until) = from.zip(until).ok_or("it is injected and healed")?;
        let dead = |k: &PartitionId| leaders[k] == leaders[&cut.partition];
        let lapsed: Vec<PartitionId> = facts
            .iter()
            .filter(|fact| (from..until).contains(&fact.t))
            .filter(|fact| {
                fact.life.as_ref().is_some_and(|it| it.member.as_str().starts_with("p1-"))
            })
            .filter_map(|fact| match fact.what {
                What::Member(MemberEvent::Lapsed { partition, .. }) => Some(partition),
                _ => None,
            })
            .collect();
        require(lapsed.iter().any(dead), || "the fault does something".to_owned())?;
        let others: Vec<_> = lapsed.iter().filter(|k| !dead(k)).collect();
        require(others.is_empty(), || format!("{others:?} lapse as well"))
    });
}
