//! The plan: every name, partition, address and argument is decided here; what executes it has
//! nothing left to choose.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Access, Allowance, Bounds, Objective, Pace, Shareable};
use crate::ids::{
    ClusterName, ConsumerGroup, GroupName, HostName, MemberId, PartitionId, RoleIndex, RoleName,
    TopicName, TopologyName,
};
use crate::roles::{RoleClass, Roles};
use crate::time::Span;

/// Everything that a run needs to know of its topology.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The topology's name.
    pub topology: TopologyName,
    /// The roles, as the topology has them; a role's index is its place.
    pub roles: Roles,
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
    /// What is promised.
    pub objective: Objective,
    /// What an experiment may do at most.
    #[serde(default)]
    pub limits: Allowance,
    /// What a reader should know before running it, one sentence each.
    pub warnings: Vec<String>,
}

/// One cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedCluster {
    /// Where it is.
    pub address: Address,
    /// The machine that its broker shares with whoever bears the same label; of embedded ones only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostName>,
    /// For how long, at most, nobody does what a broker did that died; nothing where it was the
    /// only one, for then that is until it is back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover: Option<Span>,
    /// From the start of its brokers, where all were down, to a cluster that serves.
    #[serde(default)]
    pub start_up: Span,
    /// How its members speak to it.
    #[serde(flatten)]
    pub members: Access,
    /// How the controller does, where that is not as its members do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<Access>,
}

impl PlannedCluster {
    /// Whether it has one broker, as far as its addresses tell.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        match &self.address {
            Address::Embedded => true,
            Address::Bootstrap(list) => !list.contains(','),
        }
    }

    /// How the controller speaks to it.
    #[must_use]
    pub fn controller(&self) -> &Access {
        self.controller.as_ref().unwrap_or(&self.members)
    }
}

/// Where a cluster is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Address {
    /// A broker of our own, a process a cluster; its port is taken at start.
    Embedded,
    /// Somebody's brokers: `host:port`, several with commas.
    Bootstrap(String),
}

/// How members reach brokers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edges {
    /// By themselves.
    #[default]
    Direct,
    /// Through a process of ours, which can cut and slow what passes, and answer it.
    Proxied,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedGroup {
    /// Its cluster.
    pub cluster: ClusterName,
    /// Its ledger.
    pub topic: TopicName,
    /// The ledger's width, `|M|`.
    pub partitions: NonZeroU32,
    /// Its `group.id`.
    pub consumer_group: ConsumerGroup,
    /// The machine that it shares with whoever bears the same label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostName>,
    /// Its members, in order.
    pub members: Vec<MemberId>,
    /// How it keeps time.
    pub pace: Pace,
    /// The topic's replication factor; the cluster's own default where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replication: Option<u16>,
    /// The topic's `min.insync.replicas`; the cluster's own default where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_insync_replicas: Option<u16>,
    /// For how long the topic keeps messages.
    pub retention: Span,
    /// How long after a death a member is started again.
    pub restart_after: Span,
    /// What the group publishes at full strength, in messages a second.
    pub beacons_per_s: f64,
    /// What a fault may cost it.
    pub bounds: Bounds,
}

impl Plan {
    /// The group of a member, if the plan knows it.
    #[must_use]
    pub fn group_of(&self, member: &MemberId) -> Option<&GroupName> {
        self.groups.iter().find(|(_, group)| group.members.contains(member)).map(|(name, _)| name)
    }

    /// The groups of which something holds.
    #[must_use]
    pub fn groups_where(&self, holds: impl Fn(&PlannedGroup) -> bool) -> BTreeSet<GroupName> {
        let groups = self.groups.iter().filter(|(_, group)| holds(group));
        groups.map(|(name, _)| name.clone()).collect()
    }

    /// The machines that a group rests on, as far as they bear a label: its members', its broker's.
    pub fn hosts_of<'a>(&'a self, group: &'a PlannedGroup) -> impl Iterator<Item = &'a HostName> {
        let broker = self.clusters.get(&group.cluster).and_then(|cluster| cluster.host.as_ref());
        group.host.iter().chain(broker)
    }

    /// The clusters whose broker stands on this machine.
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
    /// On which partition a role is.
    #[must_use]
    pub fn partition(&self, role: RoleIndex) -> PartitionId {
        role.partition(self.partitions)
    }

    /// How many partitions there are, to compare with how many there are of something else.
    #[must_use]
    pub fn width(&self) -> usize {
        PartitionId(self.partitions.get()).index()
    }
}
