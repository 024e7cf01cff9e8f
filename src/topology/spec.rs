//! The topology as it is written: `topologies/*.yaml`. What may be left out is optional here, and
//! decided in the plan.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Allowance, Assignor, Cluster, Edges, MembershipClient, Mode, Objective, Roles, Shareable,
};
use crate::ids::{ClusterName, ConsumerGroup, GroupName, HostName, TopicName, TopologyName};
use crate::time::Span;

/// Who leads what, where: the roles, the groups that lead all of them redundantly, and the clusters
/// that the groups stand on.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a topology")]
#[schemars(title = "Topology")]
pub struct Spec {
    /// The version of this format: 1.
    #[schemars(range(min = 1, max = 1))]
    pub version: u32,
    /// The topology's name; topics and consumer groups are named after it.
    pub name: TopologyName,
    /// What must always be led: names, or how many. A role's index is its place.
    pub roles: Roles,
    /// The clusters, by name.
    pub clusters: BTreeMap<ClusterName, Cluster>,
    /// The groups, by name. Each leads every role.
    pub groups: BTreeMap<GroupName, Group>,
    /// What holds for every group that says nothing else.
    #[serde(default)]
    pub defaults: Settings,
    /// How members reach brokers; `direct` unless given. An experiment that reaches into the
    /// network makes it `proxied`.
    #[serde(default)]
    pub edges: Edges,
    /// What no two groups may share; `[member, group]` unless given. Sharing anything else is a
    /// warning.
    pub disjoint: Option<BTreeSet<Shareable>>,
    /// What is promised.
    #[serde(default)]
    pub objective: Objective,
    /// What an experiment may do to it at most.
    #[serde(default)]
    pub limits: Allowance,
}

/// How a dead member comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a restart, as in {after: 2s}")]
pub struct Restart {
    /// How long after its death; the greater of 2s and twice the session unless given.
    pub after: Span,
}

/// How leaders are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Election {
    /// By what the members hear on the partitions that Kafka hands them.
    Neli,
}

/// Kafka's group protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// The one with JoinGroup and SyncGroup.
    Classic,
}

/// The settings stand under `defaults` for all groups and in a group for itself.
macro_rules! settings {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        /// What holds for every group that says nothing else.
        #[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, expecting = "settings, as in {session: 1s}")]
        pub struct Settings {
            $($(#[$doc])* pub $field: Option<$type>,)*
        }

        /// One group: members that elect among themselves a leader for every role.
        #[derive(Debug, Clone, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, expecting = "a group, as in {cluster: a, members: 3}")]
        pub struct Group {
            /// Its cluster, by name.
            pub cluster: ClusterName,
            /// Its ledger; `<topology>-<group>` unless given.
            pub topic: Option<TopicName>,
            /// How many partitions the ledger has; as many as there are roles, but at most 16,
            /// unless given.
            pub partitions: Option<u32>,
            /// How many members it has; 3 unless given.
            pub members: Option<u32>,
            /// The machine that it runs on: declared, not verified. No host shares none.
            pub host: Option<HostName>,
            /// Its `group.id`; `<topology>-<group>` unless given.
            pub consumer_group: Option<ConsumerGroup>,
            $($(#[$doc])* pub $field: Option<$type>,)*
        }

        impl Group {
            /// The group's own settings, and beneath them the topology's.
            #[must_use]
            pub fn settings(&self, defaults: &Settings) -> Settings {
                Settings { $($field: self.$field.or(defaults.$field),)* }
            }
        }
    };
}

settings! {
    /// When a claim holds and what ends it; `non-exclusive` unless given.
    mode: Mode,
    /// For how long the broker waits for a silent member before it gives its partitions to others;
    /// 1s unless given.
    session: Span,
    /// How often a member shows the broker that it lives; a tenth of the session, at least 30ms,
    /// unless given.
    heartbeat: Span,
    /// How often a member publishes on every partition; the lesser of 100ms and a third of the
    /// threshold unless given.
    beacon: Span,
    /// For how long a claim outlives the last message of its partition; three sessions unless
    /// given.
    threshold: Span,
    /// How the consumer group hands out partitions; `roundrobin` unless given.
    assignor: Assignor,
    /// What speaks for a member in its consumer group: `librdkafka`, the Kafka client, or `own`,
    /// Tandem itself; `librdkafka` unless given.
    membership: MembershipClient,
    /// When a dead member is started again.
    restart: Restart,
    /// The topic's replication factor; the cluster's own default unless given.
    replication: u16,
    /// The topic's `min.insync.replicas`: since Kafka 3.9 nobody hears a message before so many
    /// replicas have it (KIP-966). The cluster's own default unless given.
    min_insync_replicas: u16,
    /// For how long the topic keeps messages; 1m unless given.
    retention: Span,
    /// How leaders are chosen; `neli` unless given.
    election: Election,
    /// Kafka's group protocol; `classic` unless given.
    protocol: Protocol,
}
