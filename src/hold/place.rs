//! Where a member finds its group: the address of its cluster, and its ledger.

use std::time::Duration;

use super::HoldError;
use crate::ids::{ClusterName, GroupName, TopologyName};
use crate::kafka::{Admin, Cluster, Found};
use crate::supervision::supervisors;
use crate::topology::{Address, Plan, PlannedGroup};

/// How often the `tandem up` of an embedded cluster is looked for.
const LOOK: Duration = Duration::from_secs(1);

/// The cluster of a group, as its members reach it. An embedded one is that of the `tandem up` of
/// this user which keeps the topology up.
///
/// # Errors
/// The plan does not know the group, or no such `tandem up` runs.
pub async fn cluster_of(plan: &Plan, group: &PlannedGroup) -> Result<Cluster, HoldError> {
    let bootstrap = address_of(plan, &group.cluster).await?;
    let planned = plan.clusters.get(&group.cluster);
    Ok(Cluster { bootstrap, access: planned.map(|it| it.members.clone()).unwrap_or_default() })
}

/// The address of a cluster.
///
/// # Errors
/// The plan does not know it, or it is embedded and no `tandem up` keeps it up.
pub async fn address_of(plan: &Plan, name: &ClusterName) -> Result<String, HoldError> {
    let planned = plan.clusters.get(name);
    let planned = planned.ok_or_else(|| HoldError::NotUp(plan.topology.clone(), name.clone()))?;
    match &planned.address {
        Address::Bootstrap(address) | Address::Etcd(address) => Ok(address.clone()),
        Address::ZooKeeper(ensemble) => Ok(ensemble.zookeeper.clone()),
        // No program joins it, and a topology says so.
        Address::Members(_) | Address::Nats(_) => {
            Err(HoldError::NotUp(plan.topology.clone(), name.clone()))
        }
        Address::Embedded => kept_up(&plan.topology, name).await,
    }
}

/// The address of an embedded broker that a supervisor of this user keeps up, whether or not a
/// `tandem up` watches it.
async fn kept_up(topology: &TopologyName, cluster: &ClusterName) -> Result<String, HoldError> {
    let found = supervisors().await?.into_iter().map(|found| found.about);
    let of_topology = found.filter(|about| about.header.plan.topology == *topology);
    let mut found = of_topology.filter_map(|about| about.brokers.get(cluster).cloned());
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(HoldError::NotUp(topology.clone(), cluster.clone())),
        (Some(_), Some(_)) => Err(HoldError::Several(topology.clone())),
    }
}

/// Whether the cluster of a group is a broker of `tandem up`.
#[must_use]
pub fn is_embedded(plan: &Plan, group: &PlannedGroup) -> bool {
    plan.clusters.get(&group.cluster).is_some_and(|it| it.address == Address::Embedded)
}

/// Waits until the embedded cluster of a group, which was at `address`, is gone with its `tandem
/// up`; for ever if it is not embedded.
pub async fn no_longer_up(plan: &Plan, group: &PlannedGroup, address: &str) -> HoldError {
    let name = &group.cluster;
    if !is_embedded(plan, group) {
        return std::future::pending().await;
    }
    loop {
        tokio::time::sleep(LOOK).await;
        let gone = match address_of(plan, name).await {
            Ok(now) => now != address,
            // One that does not answer may be there still.
            Err(error) => matches!(error, HoldError::NotUp(..)),
        };
        if gone {
            return HoldError::NoLongerUp(plan.topology.clone(), name.clone());
        }
    }
}

/// Makes sure that the ledger exists as the plan says, and creates it if it is missing.
///
/// # Errors
/// The cluster does not answer or refuses, or the ledger has another width.
pub async fn ensure_ledger(
    name: &GroupName,
    group: &PlannedGroup,
    cluster: &Cluster,
) -> Result<(), HoldError> {
    let (topic, wanted) = (&group.topic, group.partitions);
    let admin = Admin::new(cluster)?;
    admin.enter()?;
    if admin.topic(topic)? == Found::Absent {
        admin.create(topic, group.topic_settings()).await?;
    }
    match admin.topic(topic)? {
        Found::Width(found) if found != wanted.get() => {
            Err(HoldError::Width { group: name.clone(), topic: topic.clone(), found, wanted })
        }
        Found::Absent | Found::Width(_) => Ok(()),
    }
}
