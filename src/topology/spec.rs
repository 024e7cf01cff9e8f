//! The format of topology files: `topologies/*.yaml`. Fields with defaults are optional here; the
//! plan applies the defaults.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Allowance, Assignor, Cluster, Duty, Edges, Foreign, Launch, MembershipClient, Mode, Objective,
    OnDeath, Profile, Roles, Shareable,
};
use crate::ids::{ClusterName, ConsumerGroup, GroupName, HostName, TopicName, TopologyName};
use crate::time::Span;

/// A topology: the roles, the groups that redundantly lead all of them, and the clusters that the
/// groups use.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a topology")]
#[schemars(title = "Topology")]
pub struct Spec {
    /// The version of this format: 1.
    #[schemars(range(min = 1, max = 1))]
    pub version: u32,
    /// The topology's name; topics and consumer groups are named after it.
    pub name: TopologyName,
    /// The roles that must always be led: names, or a number. A role's index is its position.
    pub roles: Roles,
    /// The clusters, by name.
    pub clusters: BTreeMap<ClusterName, Cluster>,
    /// The groups, by name. Each leads every role.
    pub groups: BTreeMap<GroupName, Group>,
    /// Defaults for the settings of every group.
    #[serde(default)]
    pub defaults: GroupSettings,
    /// How members connect to brokers; default: `direct`. An experiment that disturbs the network
    /// makes it `proxied`.
    #[serde(default)]
    pub edges: Edges,
    /// What no two groups may share; default: `[member, group]`. Sharing anything else is a
    /// warning.
    pub disjoint: Option<BTreeSet<Shareable>>,
    /// The objective.
    #[serde(default)]
    pub objective: Objective,
    /// The limits on the faults of experiments.
    #[serde(default)]
    pub limits: Allowance,
}

/// How a dead member comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a restart, as in {after: 2s}")]
pub struct Restart {
    /// How long after its death; default: 2s or twice the session, whichever is greater.
    pub after: Span,
}

/// How leaders are elected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Election {
    /// By the messages that members receive on their assigned partitions.
    Neli,
    /// By keys of etcd, which a member creates if they are absent, bound to its lease.
    Etcd,
}

/// Kafka's group protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// The one with JoinGroup and SyncGroup.
    Classic,
}

/// Defines the settings once, for `defaults` and for each group.
macro_rules! settings {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        /// Defaults for the settings of every group.
        #[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, expecting = "settings, as in {session: 1s}")]
        pub struct GroupSettings {
            $($(#[$doc])* pub $field: Option<$type>,)*
        }

        /// One group: members that elect a leader for every role among themselves.
        #[derive(Debug, Clone, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, expecting = "a group, as in {cluster: a, members: 3}")]
        pub struct Group {
            /// Its cluster, by name.
            pub cluster: ClusterName,
            /// Its ledger topic; default: `<topology>-<group>`.
            pub topic: Option<TopicName>,
            /// The number of partitions of the ledger; default: one per role, at most 16.
            pub partitions: Option<u32>,
            /// The number of members that Tandem starts; default: 3.
            pub members: Option<u32>,
            /// Who starts the members: `tandem` (default), or `external`: all are programs of
            /// yours, which report on the facts topic what they lead.
            pub launch: Option<Launch>,
            /// The machine that it runs on: declared, not verified. Without it, the group shares no
            /// machine.
            pub host: Option<HostName>,
            /// Its `group.id`; default: `<topology>-<group>`.
            pub consumer_group: Option<ConsumerGroup>,
            /// Whether its consumer group may have members that the run did not start; default:
            /// `refuse`. With `allow`, what those hold is unknown, and never a gap.
            pub foreign: Option<Foreign>,
            /// The program that its members run for each role that they lead; default: a stand-in
            /// of Tandem's own.
            pub duty: Option<Duty>,
            $($(#[$doc])* pub $field: Option<$type>,)*
        }

        impl Group {
            /// The group's own settings, completed with the topology's defaults.
            #[must_use]
            pub fn settings(&self, defaults: &GroupSettings) -> GroupSettings {
                GroupSettings { $($field: self.$field.or(defaults.$field),)* }
            }
        }
    };
}

settings! {
    /// The defaults of the other settings: `tandem` (default), or `paper`, the protocol as first
    /// published: `{membership: librdkafka, handover: false}`.
    profile: Profile,
    /// When a claim holds, and what ends it; default: `non-exclusive`. In `fast` mode a group has
    /// one partition; its holder leads every role at once, and fences itself. In `exclusive` mode
    /// no two members of a group ever lead one role: a leader proves that its group counts it in.
    mode: Mode,
    /// How long the broker waits for a silent member before it reassigns its partitions; default:
    /// 1s.
    session: Span,
    /// How often a member sends a heartbeat to the broker; default: a tenth of the session, at
    /// least 30ms.
    heartbeat: Span,
    /// How often a member publishes on every partition; default: 100ms or a third of the threshold,
    /// whichever is less.
    beacon: Span,
    /// How long a claim outlives the last message of its partition; default: three sessions, in
    /// `fast` mode half a session. In `exclusive` mode also how long it outlives the last proof;
    /// default: four fifths of a session.
    threshold: Span,
    /// In `exclusive` mode: how long a claim outlives a revocation, so that a program can stop its
    /// work. Each rebalance takes so much longer. Default: 0s.
    hold: Span,
    /// How the consumer group assigns partitions; default: `roundrobin`.
    assignor: Assignor,
    /// The client in the consumer group: `own` (default), which is Tandem itself, or `librdkafka`,
    /// the default in `fast` mode and where `own` does not support the cluster's properties.
    /// `exclusive` mode needs `own`.
    membership: MembershipClient,
    /// Whether a member gives up its leadership as soon as another member, which the group has
    /// assigned the partition, states that it leads; and whether a member that leaves waits for
    /// that. Else both lead until the threshold has passed. Default: true in non-exclusive mode
    /// with `membership: own`, which it needs.
    handover: bool,
    /// What happens when a member's process dies: `expire` (default) waits until its session is
    /// over; `leave` leaves the group for it at once, and needs `membership: own`; `stand-in` does
    /// that, and the other members, which keep a connection to it, lead its partitions at once. It
    /// needs non-exclusive mode and `handover`.
    on_death: OnDeath,
    /// With `on_death: stand-in`: a member that is silent for this long is stood in for as well,
    /// though it may live: then both lead. Default: only a dead one is.
    suspect: Span,
    /// When a dead member is started again.
    restart: Restart,
    /// The topic's replication factor; default: the cluster's.
    replication: u16,
    /// The topic's `min.insync.replicas`: since Kafka 3.9 consumers receive a message only once
    /// this many replicas have it (KIP-966). Default: the cluster's.
    min_insync_replicas: u16,
    /// How long the topic keeps messages; default: 1m.
    retention: Span,
    /// How leaders are elected: `neli` (default), on Kafka, or `etcd`, which needs a cluster of
    /// etcd.
    election: Election,
    /// With `election: etcd`: how long etcd keeps the roles of a member that it does not hear, in
    /// whole seconds; a leader stops before that. Default: 2s, the least that etcd grants.
    lease: Span,
    /// Kafka's group protocol; default: `classic`.
    protocol: Protocol,
}
