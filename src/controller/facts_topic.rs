//! Provisions the topics of facts and of orders, on each cluster of a topology with members that
//! Tandem does not start. They outlive the run, as these members do; `tandem down` removes them.

use super::{Clusters, Created, Entry, ProvisionError};
use crate::external::{ensure_topic, topic_settings};
use crate::ids::{ClusterName, TopicName};
use crate::kafka::{Admin, Cluster, Found};
use crate::topology::{Address, Plan};

/// Creates these topics where they are missing.
///
/// # Errors
/// A cluster does not answer or refuses, or the topic cannot be recorded.
pub(super) async fn provision_facts(
    plan: &Plan,
    clusters: &Clusters,
) -> Result<(), ProvisionError> {
    if !plan.has_external() {
        return Ok(());
    }
    let seen = plan.clusters.iter().filter(|(_, cluster)| cluster.is_kafka());
    let (plan, seen) = (plan.clone(), seen.map(|(name, _)| name));
    let seen: Vec<_> = seen.map(|name| (name.clone(), clusters.of_controller(name))).collect();
    // The client's calls block the thread.
    let runtime = tokio::runtime::Handle::current();
    let made = tokio::task::spawn_blocking(move || {
        runtime.block_on(async {
            for (name, cluster) in &seen {
                ensure(&plan, name, cluster).await?;
            }
            Ok(())
        })
    });
    // This fails only while the runtime shuts down; the result is not used then.
    made.await.unwrap_or(Ok(()))
}

/// Creates these topics on one cluster, where they are missing.
pub(super) async fn ensure(
    plan: &Plan,
    name: &ClusterName,
    cluster: &Cluster,
) -> Result<(), ProvisionError> {
    for topic in plan.outside_topics() {
        ensure_one(plan, name, cluster, &topic).await?;
    }
    Ok(())
}

async fn ensure_one(
    plan: &Plan,
    name: &ClusterName,
    cluster: &Cluster,
    topic: &TopicName,
) -> Result<(), ProvisionError> {
    let failed = |source| ProvisionError::Facts { cluster: name.clone(), source };
    let outlives = plan.clusters.get(name).is_some_and(|it| it.address != Address::Embedded);
    if !outlives {
        return ensure_topic(cluster, topic).await.map_err(failed);
    }
    let admin = Admin::new(cluster).map_err(failed)?;
    if admin.topic(topic).map_err(failed)? == Found::Absent {
        let created = Created::of(&plan.topology);
        let entry = Entry { bootstrap: cluster.bootstrap.clone(), topic: topic.clone() };
        let folder = || created.folder().display().to_string();
        let record = created.record(&entry);
        record.map_err(|source| ProvisionError::Record { folder: folder(), source })?;
        if !admin.create(topic, topic_settings()).await.map_err(failed)? {
            // Another process has created it meanwhile.
            let forget = created.forget(&entry);
            forget.map_err(|source| ProvisionError::Record { folder: folder(), source })?;
        }
    }
    Ok(())
}
