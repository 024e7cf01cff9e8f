//! Provisions topics: creates missing ones, refuses those that differ from the plan, and removes
//! those that the run created. All groups are provisioned concurrently, and repeating it does no
//! harm.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::etcd_preflight::etcd_findings;
use super::facts_topic::{ensure as ensure_facts, provision_facts};
use super::nats_preflight::nats_findings;
use super::own_members::own_members;
use super::preflight::inspect;
use super::zookeeper_preflight::zookeeper_findings;
use super::{Clusters, Created, Entry};
use crate::ids::{ClusterName, ConsumerGroup, GroupName, TopicName};
use crate::kafka::{Admin, Cluster, Found, KafkaError};
use crate::topology::{Address, Plan, PlannedGroup, Weight, addresses, group_terms, judge};
use tandem_member::set_group_terms;

/// A group's ledger cannot be created, used or removed.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// The cluster could not be inspected.
    #[error("cluster {cluster} cannot be used")]
    Silent {
        /// The cluster.
        cluster: ClusterName,
        /// The client's error.
        #[source]
        source: KafkaError,
    },
    /// Clusters do not allow what is planned; a sentence each.
    #[error("{}", .0.join("\n"))]
    Refused(Vec<String>),
    /// The cluster does not answer, or refuses.
    #[error("group {group} cannot be provisioned")]
    Kafka {
        /// The group.
        group: GroupName,
        /// The client's error.
        #[source]
        source: KafkaError,
    },
    /// The topic of the facts cannot be created.
    #[error("the facts topic on cluster {cluster} cannot be provisioned")]
    Facts {
        /// The cluster.
        cluster: ClusterName,
        /// The client's error.
        #[source]
        source: KafkaError,
    },
    /// The topic exists with another number of partitions. Its width never changes, because the
    /// partition of each role depends on it.
    #[error(
        "topic {topic} of group {group} has {found} partitions and {wanted} are planned: \
         set `partitions: {found}`, name another topic, or delete this one"
    )]
    Width {
        /// The group.
        group: GroupName,
        /// Its topic.
        topic: TopicName,
        /// The number of partitions.
        found: u32,
        /// The planned number of partitions.
        wanted: NonZeroU32,
    },
    /// The consumer group has members that this run did not start.
    #[error(
        "consumer group {consumer_group} of group {group} has members that are not ours ({names}): \
         stop them, set another `consumer_group`, or let them be there with `foreign: allow`"
    )]
    Foreign {
        /// The group.
        group: GroupName,
        /// Its `group.id`.
        consumer_group: ConsumerGroup,
        /// The client ids of these members.
        names: String,
    },
    /// A topic that the run created could not be removed.
    #[error("topic {topic} cannot be removed; `tandem down` tries again")]
    Remove {
        /// The topic.
        topic: TopicName,
        /// The client's error.
        #[source]
        source: KafkaError,
    },
    /// The record of a created topic cannot be read or written. A topic without a record is not
    /// created, because nothing would remove it.
    #[error("the records of created topics in {folder} cannot be used")]
    Record {
        /// The folder.
        folder: String,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
}

/// What a run created or set, or was about to, on clusters that outlive it.
#[derive(Debug, Clone, Default)]
pub struct Provisioned {
    made: Arc<Mutex<Vec<Made>>>,
    /// Groups of the newer protocol, whose settings it set.
    set: Arc<Mutex<Vec<(Cluster, ConsumerGroup)>>>,
}

/// A created topic: its record, its cluster, its name.
type Made = (Created, Cluster, TopicName);

/// What one group needs.
struct Need {
    name: GroupName,
    group: PlannedGroup,
    cluster: Cluster,
    /// How its members connect to the cluster.
    members: Cluster,
    /// The records of created topics; `None` for a cluster that ends with the run.
    created: Option<Created>,
    made: Provisioned,
    stop: CancellationToken,
}

/// Creates the topics of all groups of `plan`. `made` lists what was created, also after an error
/// or a stop.
///
/// # Errors
/// The first refusal.
pub async fn provision(
    plan: &Plan,
    clusters: &Clusters,
    made: &Provisioned,
    stop: &CancellationToken,
) -> Result<(), ProvisionError> {
    preflight(plan).await?;
    provision_facts(plan, clusters).await?;
    // Groups that share a topic share its provisioning.
    let mut ledgers: BTreeMap<_, Vec<Need>> = BTreeMap::new();
    for (name, group) in plan.groups.iter().filter(|(_, it)| plan.is_on_kafka(it)) {
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
        // The client's calls block the thread.
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

/// Inspects the clusters first, so that nothing is created if one of them cannot be used.
async fn preflight(plan: &Plan) -> Result<(), ProvisionError> {
    let mut facts = BTreeMap::new();
    for (cluster, answer) in inspect(plan).await {
        match answer {
            Ok(answer) => drop(facts.insert(cluster, answer)),
            Err(source) => return Err(ProvisionError::Silent { cluster, source }),
        }
    }
    let mut refused = own_members(plan, &mut facts);
    let stores = etcd_findings(plan).await.into_iter().chain(zookeeper_findings(plan).await);
    let stores = stores.chain(nats_findings(plan).await);
    for finding in stores.chain(judge(plan, &facts)) {
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
        set_terms(&need)?;
        if ensure(&need).await? && need.created.is_some() {
            let failed = |source| ProvisionError::Kafka { group: need.name.clone(), source };
            need.members.lets_publish(&need.group.topic).map_err(failed)?;
        }
    }
    Ok(())
}

/// Gives a group of the newer protocol its session and its heartbeat, which are the brokers'.
fn set_terms(need: &Need) -> Result<(), ProvisionError> {
    let Some(terms) = group_terms(&need.group) else { return Ok(()) };
    let consumer_group = &need.group.consumer_group;
    if need.created.is_some() {
        // Before the request, because a failed request may have set them.
        need.made.set().push((need.cluster.clone(), consumer_group.clone()));
    }
    let set = set_group_terms(&need.cluster, consumer_group, Some(terms));
    set.map_err(|source| ProvisionError::Kafka { group: need.name.clone(), source })
}

/// Ensures that one group's topic exists. Returns whether it was created.
async fn ensure(need: &Need) -> Result<bool, ProvisionError> {
    let (group, topic, wanted) = (need.name.clone(), &need.group.topic, need.group.partitions);
    let failed = |source| ProvisionError::Kafka { group: need.name.clone(), source };
    let admin = Admin::new(&need.cluster).map_err(failed)?;
    let members = admin.members(&need.group.consumer_group).map_err(failed)?;
    let refused = need.group.is_started() && need.group.foreign.is_refused();
    if !members.is_empty() && refused {
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
        // Before the request, because a failed request may have created the topic.
        need.made.made().push((created.clone(), need.cluster.clone(), topic.clone()));
    }
    if admin.create(topic, need.group.topic_settings()).await.map_err(failed)? {
        return Ok(true);
    }
    // Another process has created it meanwhile, so it must be checked like any existing topic.
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

/// Creates the topics of an embedded cluster again, which were lost with its broker. Members may be
/// connected already; they can only be the run's own.
pub(super) async fn remake(
    plan: &Plan,
    clusters: &Clusters,
    cluster: &ClusterName,
) -> Result<(), ProvisionError> {
    let groups = plan.groups.iter().filter(|(_, group)| group.cluster == *cluster);
    let groups: Vec<_> = groups.map(|(name, group)| (name.clone(), group.clone())).collect();
    let seen = clusters.of_controller(cluster);
    let facts = plan.has_external().then(|| (plan.clone(), cluster.clone()));
    // The client's calls block the thread.
    let runtime = tokio::runtime::Handle::current();
    let made = tokio::task::spawn_blocking(move || {
        runtime.block_on(async {
            for (group, planned) in groups {
                let failed = |source| ProvisionError::Kafka { group: group.clone(), source };
                let admin = Admin::new(&seen).map_err(failed)?;
                admin.create(&planned.topic, planned.topic_settings()).await.map_err(failed)?;
                if let Some(terms) = group_terms(&planned) {
                    let set = set_group_terms(&seen, &planned.consumer_group, Some(terms));
                    set.map_err(failed)?;
                }
            }
            if let Some((plan, cluster)) = facts {
                ensure_facts(&plan, &cluster, &seen).await?;
            }
            Ok(())
        })
    });
    // This fails only while the runtime shuts down; the result is not used then.
    made.await.unwrap_or(Ok(()))
}

fn unrecorded(created: &Created, source: std::io::Error) -> ProvisionError {
    ProvisionError::Record { folder: created.folder().display().to_string(), source }
}

impl Provisioned {
    fn made(&self) -> MutexGuard<'_, Vec<Made>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self) -> MutexGuard<'_, Vec<(Cluster, ConsumerGroup)>> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the topics that the run created, and the settings of its groups. Those of embedded
    /// clusters end with their brokers.
    ///
    /// # Errors
    /// A cluster does not answer, or refuses. What remains stays recorded for `tandem down`.
    pub async fn remove(self) -> Result<(), ProvisionError> {
        let mut outcome = Ok(());
        let set = std::mem::take(&mut *self.set());
        for (cluster, group) in set {
            // It connects and waits, a moment.
            let reset = tokio::task::spawn_blocking(move || {
                if let Err(error) = set_group_terms(&cluster, &group, None) {
                    let error = crate::error::chain(&error);
                    tracing::warn!(%group, error, "The settings of a consumer group stay.");
                }
            });
            drop(reset.await);
        }
        let made = std::mem::take(&mut *self.made());
        for (created, cluster, topic) in made {
            // Continue after an error.
            outcome = outcome.and(remove(&created, &cluster, &topic).await);
        }
        outcome
    }
}

/// Removes exactly the topics that are recorded for the topology of `plan`, on all clusters.
/// Returns what was removed, and the errors of what could not be removed, which stays recorded.
///
/// # Errors
/// The records cannot be read.
pub async fn down(plan: &Plan) -> Result<(Vec<Entry>, Vec<ProvisionError>), ProvisionError> {
    let created = Created::of(&plan.topology);
    let entries = created.entries().map_err(|source| unrecorded(&created, source))?;
    let (mut removed, mut failed) = (Vec::new(), Vec::new());
    for Entry { bootstrap, topic } in entries {
        let here = Address::Bootstrap(addresses(&bootstrap));
        let planned = plan.clusters.values().find(|planned| planned.address == here);
        // If the topology no longer names the cluster, connect to the recorded address.
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
    let (of, name) = (cluster.clone(), topic.clone());
    // The client's calls block the thread.
    let runtime = tokio::runtime::Handle::current();
    let deleted = tokio::task::spawn_blocking(move || {
        runtime.block_on(async {
            let admin = Admin::new(&of)?;
            // A cluster that is down says so sooner than a request to it ends.
            admin.enter()?;
            admin.delete(&name).await
        })
    });
    // This fails only while the runtime shuts down; the topic stays recorded then.
    let Ok(deleted) = deleted.await else { return Ok(()) };
    deleted.map_err(failed)?;
    let bootstrap = cluster.bootstrap.clone();
    let entry = Entry { bootstrap, topic: topic.clone() };
    created.forget(&entry).map_err(|source| unrecorded(created, source))
}
