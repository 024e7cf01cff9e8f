//! Topics: made where they are missing, refused where they are not as planned, removed where we
//! made them. All groups at once, and again without harm.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::own_members::own_members;
use super::preflight::{inspect, topic_settings};
use super::{Clusters, Created, Entry};
use crate::ids::{ClusterName, ConsumerGroup, GroupName, TopicName};
use crate::kafka::{Admin, Cluster, Found, KafkaError};
use crate::topology::{Address, Plan, PlannedGroup, Weight, judge};

/// Why a group has no ledger, or must not use it.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// The cluster does not say what it allows.
    #[error("cluster {cluster} cannot be used")]
    Silent {
        /// Which cluster.
        cluster: ClusterName,
        /// Why not.
        #[source]
        source: KafkaError,
    },
    /// Clusters do not allow what is planned.
    #[error("{}", .0.join("\n"))]
    Refused(Vec<String>),
    /// The cluster does not answer or refuses.
    #[error("group {group} cannot be provisioned")]
    Kafka {
        /// Which group.
        group: GroupName,
        /// Why not.
        #[source]
        source: KafkaError,
    },
    /// A ledger never changes its width under a running group, and roles hang on it.
    #[error(
        "topic {topic} of group {group} has {found} partitions and {wanted} are planned: \
         set `partitions: {found}`, name another topic, or delete this one"
    )]
    Width {
        /// Which group.
        group: GroupName,
        /// Its topic.
        topic: TopicName,
        /// How many partitions it has.
        found: u32,
        /// How many it should have.
        wanted: NonZeroU32,
    },
    /// Two runs never share a consumer group.
    #[error(
        "consumer group {consumer_group} of group {group} has members that are not ours ({names}): \
         stop them, or set another `consumer_group`"
    )]
    Foreign {
        /// Which group.
        group: GroupName,
        /// Its `group.id`.
        consumer_group: ConsumerGroup,
        /// The client ids of the strangers.
        names: String,
    },
    /// A topic that we made stays: the cluster does not answer or refuses.
    #[error("topic {topic} cannot be removed; `tandem down` tries again")]
    Remove {
        /// Which topic.
        topic: TopicName,
        /// Why not.
        #[source]
        source: KafkaError,
    },
    /// What cannot be recorded is not made, or nobody would remove it.
    #[error("what is created cannot be recorded under {folder}")]
    Record {
        /// Where.
        folder: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

/// The topics that a run made, or was about to make, on clusters that outlive it.
#[derive(Debug, Clone, Default)]
pub struct Provisioned {
    made: Arc<Mutex<Vec<Made>>>,
}

/// Where it is recorded, where it is, what it is.
type Made = (Created, Cluster, TopicName);

/// One group's needs.
struct Need {
    name: GroupName,
    group: PlannedGroup,
    cluster: Cluster,
    /// The same as its members see it.
    members: Cluster,
    /// Where creations are recorded; nowhere for a cluster that dies with the run.
    created: Option<Created>,
    made: Provisioned,
    stop: CancellationToken,
}

/// Sees to the topics of all groups of `plan`.
///
/// # Errors
/// The first refusal; what was made until then is in `made`, as it is where this is stopped.
pub async fn provision(
    plan: &Plan,
    clusters: &Clusters,
    made: &Provisioned,
    stop: &CancellationToken,
) -> Result<(), ProvisionError> {
    preflight(plan).await?;
    // Groups that share a topic share its provisioning.
    let mut ledgers: BTreeMap<_, Vec<Need>> = BTreeMap::new();
    for (name, group) in &plan.groups {
        let outlives = plan.clusters.get(&group.cluster).map(|cluster| &cluster.address)
            != Some(&Address::Embedded);
        let need = Need {
            name: name.clone(),
            group: group.clone(),
            cluster: clusters.of_controller(&group.cluster),
            members: clusters.of_members(&group.cluster),
            created: outlives.then(|| Created::of(&plan.topology)),
            made: made.clone(),
            stop: stop.clone(),
        };
        ledgers.entry((group.cluster.clone(), group.topic.clone())).or_default().push(need);
    }
    let mut tasks = JoinSet::new();
    for needs in ledgers.into_values() {
        // The client's calls block.
        let runtime = tokio::runtime::Handle::current();
        tasks.spawn_blocking(move || runtime.block_on(ensure_all(needs)));
    }
    let mut outcome = Ok(());
    while let Some(task) = tasks.join_next().await {
        if let Ok(result) = task {
            outcome = outcome.and(result);
        }
    }
    outcome
}

/// Asks the clusters first: one that will not do is left as it is.
async fn preflight(plan: &Plan) -> Result<(), ProvisionError> {
    let mut facts = BTreeMap::new();
    for (cluster, answer) in inspect(plan).await {
        match answer {
            Ok(told) => drop(facts.insert(cluster, told)),
            Err(source) => return Err(ProvisionError::Silent { cluster, source }),
        }
    }
    let mut refused = own_members(plan, &mut facts);
    for finding in judge(plan, &facts) {
        match finding.weight {
            Weight::Fine => tracing::debug!("{finding}"),
            Weight::Warned => tracing::warn!("{finding}"),
            Weight::Refused => refused.push(finding.text),
        }
    }
    if refused.is_empty() { Ok(()) } else { Err(ProvisionError::Refused(refused)) }
}

async fn ensure_all(needs: Vec<Need>) -> Result<(), ProvisionError> {
    for need in needs {
        if ensure(&need).await? && need.created.is_some() {
            let failed = |source| ProvisionError::Kafka { group: need.name.clone(), source };
            need.members.lets_publish(&need.group.topic).map_err(failed)?;
        }
    }
    Ok(())
}

/// Sees to one group's topic; whether it was made.
async fn ensure(need: &Need) -> Result<bool, ProvisionError> {
    let (group, topic, wanted) = (need.name.clone(), &need.group.topic, need.group.partitions);
    let failed = |source| ProvisionError::Kafka { group: need.name.clone(), source };
    let admin = Admin::new(&need.cluster).map_err(failed)?;
    let members = admin.members(&need.group.consumer_group).map_err(failed)?;
    if !members.is_empty() {
        let consumer_group = need.group.consumer_group.clone();
        let names: Vec<_> = members.into_iter().map(|member| member.client_id).collect();
        return Err(ProvisionError::Foreign { group, consumer_group, names: names.join(", ") });
    }
    let width = |found| {
        if found == wanted.get() {
            return Ok(false);
        }
        Err(ProvisionError::Width { group: group.clone(), topic: topic.clone(), found, wanted })
    };
    if let Found::Width(found) = admin.topic(topic).map_err(failed)? {
        return width(found);
    }
    if need.stop.is_cancelled() {
        return Ok(false);
    }
    let entry = Entry { bootstrap: need.cluster.bootstrap.clone(), topic: topic.clone() };
    if let Some(created) = &need.created {
        created.record(&entry).map_err(|source| unrecorded(created, source))?;
        // From here on, for nobody knows what a request that fails has done.
        need.made.made().push((created.clone(), need.cluster.clone(), topic.clone()));
    }
    if admin.create(topic, topic_settings(&need.group)).await.map_err(failed)? {
        return Ok(true);
    }
    // Somebody else was faster: it is theirs, and to be judged like any other that exists.
    if let Some(created) = &need.created {
        let theirs = (created.clone(), need.cluster.clone(), topic.clone());
        need.made.made().retain(|made| *made != theirs);
        created.forget(&entry).map_err(|source| unrecorded(created, source))?;
    }
    match admin.topic(topic).map_err(failed)? {
        Found::Width(found) => width(found),
        Found::Absent => width(0),
    }
}

/// Makes the topics of an embedded cluster again, which died with its broker. Whose members are
/// there by now is no stranger: they know no other address.
pub(super) async fn remake(
    plan: &Plan,
    clusters: &Clusters,
    cluster: &ClusterName,
) -> Result<(), ProvisionError> {
    let groups = plan.groups.iter().filter(|(_, group)| group.cluster == *cluster);
    let groups: Vec<_> = groups.map(|(name, group)| (name.clone(), group.clone())).collect();
    let seen = clusters.of_controller(cluster);
    // The client's calls block.
    let runtime = tokio::runtime::Handle::current();
    let made = tokio::task::spawn_blocking(move || {
        runtime.block_on(async {
            for (group, planned) in groups {
                let failed = |source| ProvisionError::Kafka { group: group.clone(), source };
                let admin = Admin::new(&seen).map_err(failed)?;
                admin.create(&planned.topic, topic_settings(&planned)).await.map_err(failed)?;
            }
            Ok(())
        })
    });
    // A task that is gone was ended with the runtime, and nobody asks any more.
    made.await.unwrap_or(Ok(()))
}

fn unrecorded(created: &Created, source: std::io::Error) -> ProvisionError {
    ProvisionError::Record { folder: created.folder().display().to_string(), source }
}

impl Provisioned {
    fn made(&self) -> MutexGuard<'_, Vec<Made>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes what the run made. Embedded clusters take their topics with them.
    ///
    /// # Errors
    /// A cluster does not answer or refuses; what remains stays recorded for `tandem down`.
    pub async fn remove(self) -> Result<(), ProvisionError> {
        let mut outcome = Ok(());
        let made = std::mem::take(&mut *self.made());
        for (created, cluster, topic) in made {
            // One that cannot be removed keeps no other from being.
            outcome = outcome.and(remove(&created, &cluster, &topic).await);
        }
        outcome
    }
}

/// Removes what is recorded as created for the topology of `plan`, wherever it was created, and
/// exactly that; what was removed, and what could not be, which stays recorded.
///
/// # Errors
/// What is recorded cannot be read.
pub async fn down(plan: &Plan) -> Result<(Vec<Entry>, Vec<ProvisionError>), ProvisionError> {
    let created = Created::of(&plan.topology);
    let entries = created.entries().map_err(|source| unrecorded(&created, source))?;
    let (mut removed, mut failed) = (Vec::new(), Vec::new());
    for Entry { bootstrap, topic } in entries {
        let here = Address::Bootstrap(bootstrap.clone());
        let planned = plan.clusters.values().find(|planned| planned.address == here);
        // A cluster that the file no longer names is asked as it was recorded.
        let access = planned.map(|planned| planned.controller().clone()).unwrap_or_default();
        let cluster = Cluster { bootstrap: bootstrap.clone(), access };
        match remove(&created, &cluster, &topic).await {
            Ok(()) => removed.push(Entry { bootstrap, topic }),
            Err(error) => failed.push(error),
        }
    }
    Ok((removed, failed))
}

async fn remove(
    created: &Created,
    cluster: &Cluster,
    topic: &TopicName,
) -> Result<(), ProvisionError> {
    let failed = |source| ProvisionError::Remove { topic: topic.clone(), source };
    Admin::new(cluster).map_err(failed)?.delete(topic).await.map_err(failed)?;
    let bootstrap = cluster.bootstrap.clone();
    let entry = Entry { bootstrap, topic: topic.clone() };
    created.forget(&entry).map_err(|source| unrecorded(created, source))
}
