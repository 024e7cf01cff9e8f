//! Asks every cluster that outlives a run what it allows, before the run changes anything.

use std::collections::BTreeMap;

use tokio::task::JoinSet;

use crate::ids::ClusterName;
use crate::kafka::{Admin, Cluster, KafkaError, Ledger};
use crate::topology::{Access, Address, ClusterFacts, Mode, Plan, PlannedGroup};

/// The facts of each cluster, or the error.
pub type Answers = BTreeMap<ClusterName, Result<ClusterFacts, KafkaError>>;

/// How the controller and the members connect to a cluster; they may be different Kafka users.
struct Seen {
    by_controller: Cluster,
    by_members: Cluster,
}

/// Asks all clusters of `plan` that have groups, concurrently. Embedded clusters allow everything
/// and are not asked. This creates nothing, except for the internal topic that a cluster creates
/// when it is first asked for a coordinator, and one beacon on each existing topic.
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
        // The client's calls block the thread.
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
        settings: group.topic_settings(),
        proves: group.pace.mode.is_exclusive(),
        stamped: group.pace.mode == Mode::ExclusivePaper,
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
