//! What groups share, so that one fault can hit several of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Address, Ensemble, Plan, PlannedCluster, Shareable};
use crate::ids::{ClusterName, GroupName, HostName};
use crate::kafka::offsets_partition;

/// The default of `offsets.topic.num.partitions`.
const OFFSETS_PARTITIONS: u32 = 50;

/// A thing that several groups share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fate {
    /// The kind of thing.
    pub(super) what: Shareable,
    /// The thing, in words.
    pub(super) which: String,
    /// The groups that share it; two or more.
    pub(super) groups: Vec<GroupName>,
    /// The key that makes the last of them share it.
    pub(super) key: &'static str,
    /// Whether another fate of the same groups implies it.
    pub(super) implied: bool,
}

impl Fate {
    pub(super) fn sentence(&self) -> String {
        format!("{} share {}", list(&self.groups), self.which)
    }

    pub(super) fn warning(&self) -> String {
        let what = self.what;
        format!(
            "{}: one fault can hit them all (`disjoint: [{what}]` refuses this)",
            self.sentence()
        )
    }
}

/// Everything that groups of the plan share.
pub(super) fn of(plan: &Plan) -> Vec<Fate> {
    let mut shared: BTreeMap<(Shareable, String), Vec<(GroupName, &'static str)>> = BTreeMap::new();
    let mut note = |what, which: String, group: &GroupName, key| {
        shared.entry((what, which)).or_default().push((group.clone(), key));
    };
    for (name, group) in &plan.groups {
        let cluster = brokers(&plan.clusters, &group.cluster);
        let hosts: BTreeSet<&HostName> = plan.hosts_of(group).collect();
        for host in hosts {
            let key = if group.host.as_ref() == Some(host) { "host" } else { "cluster" };
            note(Shareable::Host, machine(plan, host), name, key);
        }
        let of = format!("of cluster `{cluster}`");
        note(Shareable::Topic, format!("topic `{}` {of}", group.topic), name, "topic");
        let consumer_group = &group.consumer_group;
        let which = format!("consumer group `{consumer_group}` {of}");
        note(Shareable::Group, which, name, "consumer_group");
        let coordinator = match plan.clusters.get(&cluster).map(|cluster| &cluster.address) {
            Some(
                Address::Embedded
                | Address::Etcd(_)
                | Address::Members(_)
                | Address::ZooKeeper(_)
                | Address::Nats(_),
            )
            | None => {
                format!("the coordinator {of}")
            }
            Some(Address::Bootstrap(_)) => {
                let partition = offsets_partition(consumer_group, OFFSETS_PARTITIONS);
                format!("a coordinator {of} (`__consumer_offsets` partition {partition})")
            }
        };
        note(Shareable::Coordinator, coordinator, name, "consumer_group");
        note(Shareable::Cluster, format!("cluster `{cluster}`"), name, "cluster");
    }
    shared
        .into_iter()
        .filter(|(_, groups)| groups.len() > 1)
        .map(|((what, which), groups)| {
            let implied = is_implied(plan, what, &groups);
            let key = groups.last().map_or("cluster", |(_, key)| *key);
            let groups = groups.into_iter().map(|(name, _)| name).collect();
            Fate { what, which, groups, key, implied }
        })
        .collect()
}

/// Describes a machine and the brokers on it.
fn machine(plan: &Plan, host: &HostName) -> String {
    let clusters: Vec<_> = plan.clusters_on(host).iter().map(|it| format!("`{it}`")).collect();
    if clusters.is_empty() {
        return format!("host `{host}`");
    }
    format!("host `{host}`, with the broker of cluster {}", clusters.join(" and of cluster "))
}

/// Whether a shared embedded cluster implies it: its single broker coordinates all of its groups,
/// and runs on one machine.
fn is_implied(plan: &Plan, what: Shareable, groups: &[(GroupName, &str)]) -> bool {
    let cluster = |name: &GroupName| plan.groups.get(name).map(|group| &group.cluster);
    let is_embedded = |name: &GroupName| {
        let cluster = cluster(name).and_then(|name| plan.clusters.get(name));
        cluster.is_some_and(|cluster| cluster.address == Address::Embedded)
    };
    match what {
        Shareable::Coordinator => groups.iter().any(|(name, _)| is_embedded(name)),
        Shareable::Host => {
            let clusters: BTreeSet<_> = groups.iter().map(|(name, _)| cluster(name)).collect();
            clusters.len() == 1 && groups.iter().all(|(_, key)| *key == "cluster")
        }
        Shareable::Member | Shareable::Topic | Shareable::Group | Shareable::Cluster => false,
    }
}

/// The canonical name of a cluster: two clusters with a common address are the same brokers, and
/// the first name represents both.
pub(super) fn brokers(
    clusters: &BTreeMap<ClusterName, PlannedCluster>,
    name: &ClusterName,
) -> ClusterName {
    let Some(mut reached) = clusters.get(name).map(addresses) else { return name.clone() };
    let mut same: BTreeSet<&ClusterName> = [name].into();
    loop {
        let before = same.len();
        for (other, cluster) in clusters {
            let theirs = addresses(cluster);
            if !theirs.is_disjoint(&reached) {
                reached.extend(theirs);
                same.insert(other);
            }
        }
        if same.len() == before {
            return same.first().map_or_else(|| name.clone(), |first| (*first).clone());
        }
    }
}

impl Plan {
    /// The groups on the same brokers as this group, itself included.
    #[must_use]
    pub fn beside(&self, name: &GroupName) -> BTreeSet<GroupName> {
        self.groups.get(name).map(|group| self.on(&group.cluster)).unwrap_or_default()
    }

    /// The groups on the brokers of this cluster, under any of its names.
    #[must_use]
    pub fn on(&self, cluster: &ClusterName) -> BTreeSet<GroupName> {
        let of = |cluster| brokers(&self.clusters, cluster);
        let cluster = of(cluster);
        let on = self.groups.iter().filter(|(_, group)| of(&group.cluster) == cluster);
        on.map(|(name, _)| name.clone()).collect()
    }
}

fn addresses(cluster: &PlannedCluster) -> BTreeSet<String> {
    match &cluster.address {
        Address::Embedded | Address::Members(_) => BTreeSet::new(),
        Address::Bootstrap(list)
        | Address::Etcd(list)
        | Address::Nats(list)
        | Address::ZooKeeper(Ensemble { zookeeper: list, .. }) => list
            .split(',')
            .map(|address| address.trim().to_lowercase().replace("localhost:", "127.0.0.1:"))
            .collect(),
    }
}

/// `p1`, `p2` and `p3`.
pub(super) fn list(groups: &[GroupName]) -> String {
    let names: Vec<String> = groups.iter().map(|group| format!("`{group}`")).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((only, _)) => only.clone(),
        None => String::new(),
    }
}
