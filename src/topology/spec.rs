//! The format of topology files: `topologies/*.yaml`. Fields with defaults are optional here; the
//! plan applies the defaults.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Allowance, Assignor, Beacons, Chaos, Cluster, Duty, Edges, Election, Foreign, GroupProtocol,
    Launch, Links, MembershipClient, Mode, Objective, OnDeath, Profile, Roles, Secret, Shareable,
    Slots,
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
    /// Which role each key belongs to, for programs that work for keys; default: none. A key is
    /// hashed into one of `count` slots, and slot `s` belongs to role `s` mod the number of roles.
    pub slots: Option<Slots>,
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
    /// With `chaos: allowed`: where the key is that seals orders to the members, the same on all
    /// hosts, as in {file: /etc/tandem/orders.key}; default: a file of this user, on this machine
    /// alone.
    pub order_key: Option<Secret>,
}

/// How a dead member comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a restart, as in {after: 2s}")]
pub struct Restart {
    /// How long after its death; default: 2s or twice the session, whichever is greater.
    pub after: Span,
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
            /// Its cluster, by name; a group that elects among its members has none.
            pub cluster: Option<ClusterName>,
            /// Its ledger topic; default: `<topology>-<group>`.
            pub topic: Option<TopicName>,
            /// The number of partitions of the ledger; default: one per role, at most 16.
            pub partitions: Option<u32>,
            /// The number of members that Tandem starts; default: 3.
            pub members: Option<u32>,
            /// Who starts the members: `tandem` (default), or `external`: all are programs of
            /// yours, which report on the facts topic what they lead.
            pub launch: Option<Launch>,
            /// With `launch: external`: whether experiments on what is up may hit the members;
            /// default: `refused`.
            pub chaos: Option<Chaos>,
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
            /// With `on_death: stand-in`: where its members listen for each other, and whom they
            /// believe; default: on the loopback, processes of the same user.
            pub mesh: Option<Links>,
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
    /// published: `{membership: librdkafka, handover: false, on_death: expire}`.
    profile: Profile,
    /// When a claim holds, and what ends it; default: `non-exclusive`. In `fast` mode a group has
    /// one partition; its holder leads every role at once, and fences itself. In `exclusive` mode
    /// no two members of a group ever lead one role: a leader proves that its group counts it in.
    /// `exclusive-paper` promises the same by the paper's rule, which proves nothing: a baseline.
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
    /// Who does so: `all` members (default), as first published, or `owners`: those that hold or
    /// claim the partition, while every member publishes on the others each third of the threshold.
    /// In `fast` mode only the holder publishes.
    beacons: Beacons,
    /// How long a claim outlives the last message of its partition; default: three sessions, in
    /// `fast` and `exclusive-paper` mode half a session. In `exclusive` mode also how long it
    /// outlives the last proof; default: four fifths of a session.
    threshold: Span,
    /// In `exclusive` mode: how long a claim outlives a revocation, so that a program can stop its
    /// work. Each rebalance takes so much longer. Default: 0s.
    hold: Span,
    /// In `exclusive-paper` mode: how far the clocks of members and brokers may differ; default:
    /// 10ms. With `threshold` it must be less than the session.
    clock_error: Span,
    /// In `exclusive-paper` mode: how long a new owner waits after its first message before it
    /// leads; default, and at least: the time in which an earlier owner has certainly ended.
    grace: Span,
    /// How the consumer group assigns partitions; default: `roundrobin`, with `protocol: consumer`
    /// `uniform`.
    assignor: Assignor,
    /// The client in the consumer group: `own` (default), which is Tandem itself, or `librdkafka`,
    /// the default in `fast` and `exclusive-paper` mode and where `own` does not support the
    /// cluster's properties. `exclusive` mode needs `own`.
    membership: MembershipClient,
    /// Whether a member gives up its leadership as soon as another member, which the group has
    /// assigned the partition, states that it leads; and whether a member that leaves waits for
    /// that. Else both lead until the threshold has passed. Default: true in non-exclusive mode
    /// with `membership: own`, which it needs.
    handover: bool,
    /// Whether a member is static (`group.instance.id`, its name): the group keeps its partitions
    /// for a session when it dies or leaves, and gives them back without a rebalance if it is there
    /// again by then. Needs non-exclusive mode, `membership: own` and `protocol: classic`. Default:
    /// false.
    static_members: bool,
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
    /// How leaders are elected: `neli` (default), on Kafka; `etcd` or `zookeeper`, which need a
    /// cluster of that kind; or one of the others, among the members alone, which are on one
    /// machine; `allcall` also on a cluster of NATS.
    election: Election,
    /// With `election: etcd`: how long etcd keeps the roles of a member that it does not hear, in
    /// whole seconds; a leader stops before that. Default: 2s, the least that etcd grants.
    lease: Span,
    /// Kafka's group protocol; default: `classic`. With `consumer` (KIP-848) the brokers share out
    /// the partitions, and `session` and `heartbeat` are settings of the group, which a run sets
    /// there. It needs Kafka 4 and `membership: own`.
    protocol: GroupProtocol,
    /// With `protocol: consumer`: how long a group waits after it has shared out its partitions
    /// before it does so again; default: 0s, where Kafka's is 1s.
    assignment_interval: Span,
}
