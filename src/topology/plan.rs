//! The plan: every name, partition, address and argument is decided here; what executes it has
//! nothing left to choose.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Bounds;
use crate::ids::{
    ClusterName, ConsumerGroup, GroupName, HostName, MemberId, PartitionId, RoleIndex, RoleName,
    TopicName, TopologyName,
};
use crate::time::Span;

/// Everything that a run needs to know of its topology.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The topology's name.
    pub topology: TopologyName,
    /// The roles; a role's index is its place.
    pub roles: Vec<RoleName>,
    /// The clusters.
    pub clusters: BTreeMap<ClusterName, PlannedCluster>,
    /// The groups.
    pub groups: BTreeMap<GroupName, PlannedGroup>,
    /// What is promised.
    pub objective: Objective,
    /// What a reader should know before running it, one sentence each.
    pub warnings: Vec<String>,
}

/// One cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedCluster {
    /// Where it is.
    pub address: Address,
    /// Client properties that every connection to it uses.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
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

/// One group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedGroup {
    /// Its cluster.
    pub cluster: ClusterName,
    /// Its ledger.
    pub topic: TopicName,
    /// The ledger's width, `|M|`.
    pub partitions: NonZeroU32,
    /// Copies of the ledger; the cluster's own default where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replication: Option<u16>,
    /// For how long the ledger keeps a message.
    pub retention: Span,
    /// Its `group.id`.
    pub consumer_group: ConsumerGroup,
    /// The machine that it shares with whoever bears the same label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostName>,
    /// Its members, in order.
    pub members: Vec<MemberId>,
    /// On which partition each role is, by the role's index.
    pub role_partitions: Vec<PartitionId>,
    /// How it keeps time.
    pub pace: Pace,
    /// How long after a death a member is started again.
    pub restart_after: Span,
    /// What the group publishes at full strength, in messages a second.
    pub beacons_per_s: f64,
    /// What a fault may cost it.
    pub bounds: Bounds,
}

/// The durations and the rules of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pace {
    /// When a claim holds and what ends it.
    pub mode: Mode,
    /// `S`: the broker reassigns what a member held that it has not heard from for so long.
    pub session: Span,
    /// `h`: how often a member shows the broker that it lives.
    pub heartbeat: Span,
    /// The longest that a member waits in one poll; `h'` is `h` plus this.
    pub wake: Span,
    /// `tau`: how often a member publishes on every partition.
    pub beacon: Span,
    /// `T`: for how long a claim outlives the last message of its partition.
    pub threshold: Span,
    /// How the group hands out partitions.
    pub assignor: Assignor,
}

/// When a claim holds and what ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Revocation ends no claim: only lapse, leave or death does.
    NonExclusive,
}

/// `partition.assignment.strategy`, a property of the consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Assignor {
    /// Partition after partition, member after member.
    Roundrobin,
    /// Contiguous runs.
    Range,
    /// Moves few partitions; a join takes a second.
    CooperativeSticky,
}

impl Assignor {
    /// The name that clients know.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Roundrobin => "roundrobin",
            Self::Range => "range",
            Self::CooperativeSticky => "cooperative-sticky",
        }
    }
}

/// What is promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// So many leaders has each role in each group, outside fault and recovery windows.
    #[serde(default = "one")]
    pub leaders_per_group: u32,
    /// No role is without a leader in all groups at once for longer than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joint_gap: Option<Span>,
    /// No role is without a leader in one group for longer than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_gap: Option<Span>,
}

fn one() -> u32 {
    1
}

impl Default for Objective {
    fn default() -> Self {
        Self { leaders_per_group: one(), joint_gap: None, group_gap: None }
    }
}

impl Plan {
    /// The group of a member, if the plan knows it.
    #[must_use]
    pub fn group_of(&self, member: &MemberId) -> Option<&GroupName> {
        self.groups.iter().find(|(_, group)| group.members.contains(member)).map(|(name, _)| name)
    }

    /// The index of a role, if the plan knows it.
    #[must_use]
    pub fn role(&self, name: &RoleName) -> Option<RoleIndex> {
        let place = self.roles.iter().position(|role| role == name)?;
        u32::try_from(place).ok().map(RoleIndex)
    }
}
