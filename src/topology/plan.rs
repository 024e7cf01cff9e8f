//! The plan: every name, partition, address and argument is decided here, so that its execution has
//! nothing left to choose.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::election::OVER_NATS;
use super::{
    Access, Allowance, Bounds, Chaos, Electorate, Ensemble, Foreign, Links, Objective, Pace,
    PlannedDuty, Secret, Shareable, Slots,
};
use crate::ids::{
    ClusterName, ConsumerGroup, GroupName, HostName, MemberId, PartitionId, RoleIndex, RoleName,
    TopicName, TopologyName,
};
use crate::kafka::TopicSettings;
use crate::neli::elections::among::Among;
use crate::roles::{RoleClass, Roles};
use crate::time::Span;

/// Everything that a run needs to know about its topology.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The topology's name.
    pub topology: TopologyName,
    /// The roles, in the order of the topology; a role's index is its position.
    pub roles: Roles,
    /// Which role each key belongs to, if keys have roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<Slots>,
    /// The clusters.
    pub clusters: BTreeMap<ClusterName, PlannedCluster>,
    /// The groups.
    pub groups: BTreeMap<GroupName, PlannedGroup>,
    /// How members reach brokers.
    #[serde(default)]
    pub edges: Edges,
    /// What no two groups may share.
    #[serde(default)]
    pub disjoint: BTreeSet<Shareable>,
    /// The objective.
    pub objective: Objective,
    /// The limits on faults.
    #[serde(default)]
    pub limits: Allowance,
    /// Where the key is that seals orders to members which Tandem does not start, if it is not the
    /// user's own on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_key: Option<Secret>,
    /// Warnings for the reader, one sentence each.
    pub warnings: Vec<String>,
}

/// One cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedCluster {
    /// The address of its brokers.
    pub address: Address,
    /// The declared machine of its broker; only for embedded clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostName>,
    /// The longest time until other brokers take over from one that died; `None` for a single
    /// broker, which must come back itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover: Option<Span>,
    /// The time from the start of its brokers, if all were down, until the cluster serves.
    #[serde(default)]
    pub start_up: Span,
    /// How its members connect to it.
    #[serde(flatten)]
    pub members: Access,
    /// How the controller connects to it, if not like its members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<Access>,
}

impl PlannedCluster {
    /// Whether it has a single broker, judging by its addresses.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        match &self.address {
            Address::Embedded | Address::Members(_) => true,
            Address::Bootstrap(list) | Address::Etcd(list) | Address::Nats(list) => {
                !list.contains(',')
            }
            Address::ZooKeeper(ensemble) => !ensemble.zookeeper.contains(','),
        }
    }

    /// Whether it is of Kafka.
    #[must_use]
    pub const fn is_kafka(&self) -> bool {
        match self.address {
            Address::Embedded | Address::Bootstrap(_) => true,
            Address::Etcd(_) | Address::Members(_) | Address::ZooKeeper(_) | Address::Nats(_) => {
                false
            }
        }
    }

    /// Whether it was there before a run, and stays.
    #[must_use]
    pub const fn outlives_runs(&self) -> bool {
        match self.address {
            Address::Bootstrap(_) | Address::Etcd(_) | Address::ZooKeeper(_) | Address::Nats(_) => {
                true
            }
            Address::Embedded | Address::Members(_) => false,
        }
    }

    /// How the controller connects to it.
    #[must_use]
    pub fn controller(&self) -> &Access {
        self.controller.as_ref().unwrap_or(&self.members)
    }
}

/// The address of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Address {
    /// An embedded broker, one process per cluster; its port is chosen at start.
    Embedded,
    /// External brokers: `host:port`, separated by commas.
    Bootstrap(String),
    /// etcd, for groups that elect over it: `http://host:port`, with commas if there are several.
    Etcd(String),
    /// No brokers and no store: the members of one group, which elect among themselves.
    Members(Electorate),
    /// ZooKeeper, for groups that elect over it.
    #[serde(rename = "zookeeper")]
    ZooKeeper(Ensemble),
    /// NATS, for groups that elect over it: `host:port`, with commas if there are several.
    Nats(String),
}

/// Who starts the members of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Launch {
    /// `tandem up` and experiments, with a stand-in duty.
    #[default]
    Tandem,
    /// The user: `tandem hold`.
    External,
}

impl Launch {
    /// Serde wants a reference.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    fn is_by_tandem(&self) -> bool {
        *self == Self::Tandem
    }
}

/// How members reach brokers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edges {
    /// Directly.
    #[default]
    Direct,
    /// Through an edge process, which can cut, delay and answer traffic.
    Proxied,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedGroup {
    /// Its cluster; of a group that elects among its members, the name of those.
    pub cluster: ClusterName,
    /// Its ledger.
    pub topic: TopicName,
    /// The ledger's width, `|M|`.
    pub partitions: NonZeroU32,
    /// Its `group.id`.
    pub consumer_group: ConsumerGroup,
    /// The declared machine of its members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostName>,
    /// Its members, in order; none if it is launched externally.
    pub members: Vec<MemberId>,
    /// Who starts its members.
    #[serde(default, skip_serializing_if = "Launch::is_by_tandem")]
    pub launch: Launch,
    /// Whether experiments may hit its members, if Tandem does not start them.
    #[serde(default, skip_serializing_if = "Chaos::is_refused")]
    pub chaos: Chaos,
    /// Whether its consumer group may have members that the run did not start.
    #[serde(default, skip_serializing_if = "Foreign::is_refused")]
    pub foreign: Foreign,
    /// What its members run for each role that they lead; `None` means the stand-in of Tandem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duty: Option<PlannedDuty>,
    /// Where its members listen for each other, if not on the loopback alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mesh: Option<Links>,
    /// Its durations and rules.
    pub pace: Pace,
    /// The topic's replication factor; `None` means the cluster's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replication: Option<u16>,
    /// The topic's `min.insync.replicas`; `None` means the cluster's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_insync_replicas: Option<u16>,
    /// How long the topic keeps messages.
    pub retention: Span,
    /// How long after its death a member is started again.
    pub restart_after: Span,
    /// The messages per second that the complete group publishes.
    pub beacons_per_s: f64,
    /// The most that a fault may cost it.
    pub bounds: Bounds,
}

impl PlannedGroup {
    /// The settings with which its ledger is created.
    #[must_use]
    pub const fn topic_settings(&self) -> TopicSettings {
        TopicSettings {
            width: self.partitions,
            replication: self.replication,
            min_insync_replicas: self.min_insync_replicas,
            retention: self.retention,
        }
    }
}

impl Plan {
    /// Whether any group has members that Tandem does not start.
    #[must_use]
    pub fn has_external(&self) -> bool {
        self.groups.values().any(|group| !group.is_started())
    }

    /// The address of the etcd over which the group elects; none if it elects on Kafka.
    #[must_use]
    pub fn etcd_of(&self, group: &PlannedGroup) -> Option<&str> {
        match &self.clusters.get(&group.cluster)?.address {
            Address::Etcd(address) => Some(address),
            Address::Embedded
            | Address::Bootstrap(_)
            | Address::Members(_)
            | Address::ZooKeeper(_)
            | Address::Nats(_) => None,
        }
    }

    /// The ZooKeeper over which the group elects, if it does.
    #[must_use]
    pub fn zookeeper_of(&self, group: &PlannedGroup) -> Option<&Ensemble> {
        match &self.clusters.get(&group.cluster)?.address {
            Address::ZooKeeper(ensemble) => Some(ensemble),
            Address::Embedded
            | Address::Bootstrap(_)
            | Address::Members(_)
            | Address::Etcd(_)
            | Address::Nats(_) => None,
        }
    }

    /// The members of the group, if it elects among them alone.
    #[must_use]
    pub fn electorate_of(&self, group: &PlannedGroup) -> Option<Electorate> {
        match self.clusters.get(&group.cluster)?.address {
            Address::Members(electorate) => Some(electorate),
            Address::Embedded
            | Address::Bootstrap(_)
            | Address::Etcd(_)
            | Address::ZooKeeper(_)
            | Address::Nats(_) => None,
        }
    }

    /// The election of the group, if its members elect by words to each other.
    #[must_use]
    pub fn among_of(&self, group: &PlannedGroup) -> Option<Among> {
        match self.clusters.get(&group.cluster)?.address {
            Address::Members(electorate) => Some(electorate.election),
            Address::Nats(_) => Some(OVER_NATS),
            Address::Embedded
            | Address::Bootstrap(_)
            | Address::Etcd(_)
            | Address::ZooKeeper(_) => None,
        }
    }

    /// Whether the group elects over NATS.
    #[must_use]
    pub fn is_over_nats(&self, group: &PlannedGroup) -> bool {
        let cluster = self.clusters.get(&group.cluster);
        cluster.is_some_and(|cluster| matches!(cluster.address, Address::Nats(_)))
    }

    /// What the subjects of a group begin with, if it elects over NATS.
    #[must_use]
    pub fn subject(&self, group: &GroupName) -> String {
        format!("tandem.{}.{group}", self.topology)
    }

    /// Whether the group elects among its members alone.
    #[must_use]
    pub fn elects_alone(&self, group: &PlannedGroup) -> bool {
        self.electorate_of(group).is_some()
    }

    /// Whether the group elects on Kafka.
    #[must_use]
    pub fn is_on_kafka(&self, group: &PlannedGroup) -> bool {
        self.clusters.get(&group.cluster).is_some_and(PlannedCluster::is_kafka)
    }

    /// What the keys of a group begin with, if it elects over etcd; the folder of its nodes, if it
    /// elects over ZooKeeper.
    #[must_use]
    pub fn store_prefix(&self, group: &GroupName) -> String {
        format!("/tandem/{}/{group}", self.topology)
    }

    /// The group of a member, if the plan knows it.
    #[must_use]
    pub fn group_of(&self, member: &MemberId) -> Option<&GroupName> {
        self.groups.iter().find(|(_, group)| group.members.contains(member)).map(|(name, _)| name)
    }

    /// The groups for which `holds` is true.
    #[must_use]
    pub fn groups_where(&self, holds: impl Fn(&PlannedGroup) -> bool) -> BTreeSet<GroupName> {
        let groups = self.groups.iter().filter(|(_, group)| holds(group));
        groups.map(|(name, _)| name.clone()).collect()
    }

    /// The declared machines that a group depends on: its members' and its broker's.
    pub fn hosts_of<'a>(&'a self, group: &'a PlannedGroup) -> impl Iterator<Item = &'a HostName> {
        let broker = self.clusters.get(&group.cluster).and_then(|cluster| cluster.host.as_ref());
        group.host.iter().chain(broker)
    }

    /// The clusters whose broker is on this machine.
    #[must_use]
    pub fn clusters_on(&self, host: &HostName) -> BTreeSet<ClusterName> {
        let there = self.clusters.iter().filter(|(_, cluster)| cluster.host.as_ref() == Some(host));
        there.map(|(name, _)| name.clone()).collect()
    }

    /// The classes of roles that are on the same partitions in every group.
    pub fn classes(&self) -> impl Iterator<Item = RoleClass> + use<> {
        let widths: Vec<_> = self.groups.values().map(|group| group.partitions).collect();
        self.roles.classes(&widths)
    }

    /// The classes of roles that are on the same partition of one group, by partition.
    pub fn classes_of(&self, group: &PlannedGroup) -> impl Iterator<Item = RoleClass> + use<> {
        self.roles.classes(&[group.partitions])
    }

    /// The index of a role, if the plan knows it.
    #[must_use]
    pub fn role(&self, name: &RoleName) -> Option<RoleIndex> {
        self.roles.find(name)
    }
}

impl PlannedGroup {
    /// The partition of a role.
    #[must_use]
    pub fn partition(&self, role: RoleIndex) -> PartitionId {
        role.partition(self.partitions)
    }

    /// Whether Tandem starts its members. Otherwise all are programs of the user, whose facts
    /// arrive by way of the facts topics.
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.launch == Launch::Tandem
    }

    /// The number of partitions as `usize`.
    #[must_use]
    pub fn width(&self) -> usize {
        PartitionId(self.partitions.get()).index()
    }
}
