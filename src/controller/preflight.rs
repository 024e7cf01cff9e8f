//! Asks every cluster that outlives a run what it allows, before anything is done to it.

use std::collections::BTreeMap;

use tokio::task::JoinSet;

use crate::ids::ClusterName;
use crate::kafka::{Admin, Cluster, KafkaError, Ledger, TopicSettings};
use crate::topology::{Access, Address, ClusterFacts, Plan, PlannedGroup};

/// What each cluster said of itself, or why it did not.
pub type Answers = BTreeMap<ClusterName, Result<ClusterFacts, KafkaError>>;

/// A cluster as two users see it, or one.
struct Seen {
    by_controller: Cluster,
    by_members: Cluster,
}

/// Asks all clusters of `plan` that have groups, at once. Embedded ones allow whatever a plan
/// wants, and are not asked. Nothing is created, but for what a cluster makes when the first group
/// asks it for a coordinator, and one beacon on a topic that is there.
pub async fn inspect(plan: &Plan) -> Answers {
    let mut tasks = JoinSet::new();
    for (name, planned) in &plan.clusters {
        let Address::Bootstrap(bootstrap) = &planned.address else { continue };
        let groups = plan.groups.values().filter(|group| group.cluster == *name);
        let ledgers: Vec<_> = groups.map(ledger).collect();
        let seen_by =
            |access: &Access| Cluster { bootstrap: bootstrap.clone(), access: access.clone() };
        let seen = Seen {
            by_controller: seen_by(planned.controller()),
            by_members: seen_by(&planned.members),
        };
        // The client's calls block.
        let (runtime, name) = (tokio::runtime::Handle::current(), name.clone());
        tasks.spawn_blocking(move || (name, runtime.block_on(ask(&seen, &ledgers))));
    }
    let mut answers = Answers::new();
    while let Some(task) = tasks.join_next().await {
        answers.extend(task.ok());
    }
    answers
}

fn ledger(group: &PlannedGroup) -> Ledger {
    Ledger {
        group: group.consumer_group.clone(),
        topic: group.topic.clone(),
        settings: topic_settings(group),
    }
}

/// How the group's topic is made.
pub(super) fn topic_settings(group: &PlannedGroup) -> TopicSettings {
    TopicSettings {
        width: group.partitions,
        replication: group.replication,
        min_insync_replicas: group.min_insync_replicas,
        retention: group.retention,
    }
}

async fn ask(cluster: &Seen, ledgers: &[Ledger]) -> Result<ClusterFacts, KafkaError> {
    let facts = Admin::new(&cluster.by_controller)?.facts(ledgers).await?;
    for Ledger { group, topic, .. } in ledgers {
        cluster.by_members.admits(group, topic)?;
        let alone = facts.strangers.get(group).is_none_or(Vec::is_empty);
        if alone && facts.widths.contains_key(topic) {
            cluster.by_members.lets_publish(topic)?;
        }
    }
    Ok(facts)
}
