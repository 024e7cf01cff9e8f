//! What a member asks of brokers, and what they answer, without their bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use std::time::Duration;

use super::Refusal;
use tandem_facts::ids::PartitionId;

/// A number by which the answer to a request is known again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// A broker, as FindCoordinator names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Broker {
    /// Its node id.
    pub id: i32,
    /// Its advertised host.
    pub host: String,
    /// Its advertised port.
    pub port: u16,
}

impl fmt::Display for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} (broker {})", self.host, self.port, self.id)
    }
}

/// A request that is ready to leave.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Outgoing {
    /// Comes back with the answer.
    pub id: RequestId,
    /// The broker that must answer; any broker where there is none.
    pub to: Option<Broker>,
    /// What it asks.
    pub request: Request,
}

/// A request. The group, the topic and the instance id are those of the
/// [`GroupConfig`](super::GroupConfig).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Request {
    /// Which broker coordinates the group?
    FindCoordinator,
    /// JoinGroup, in a version that asks new members to join twice (4 or later).
    Join(Join),
    /// SyncGroup.
    Sync(Sync),
    /// Heartbeat.
    Heartbeat {
        /// The member that lives.
        member_id: String,
        /// Its generation; -1 where it has none.
        generation: i32,
    },
    /// OffsetCommit of [fences](super::GroupMember::fence). The caller commits each of them in a
    /// second place as well, which outlives the topic.
    Commit {
        /// The member that holds the partitions.
        member_id: String,
        /// Its generation.
        generation: i32,
        /// The partitions and their offsets.
        offsets: Vec<(PartitionId, i64)>,
    },
    /// OffsetFetch, of both places.
    Offsets {
        /// The member that holds the partitions. It is not part of the request.
        member_id: String,
        /// Its generation. It is not part of the request, either.
        generation: i32,
        /// The partitions.
        partitions: Vec<PartitionId>,
    },
    /// Metadata: which of these partitions have leaders?
    Leaders {
        /// The partitions.
        partitions: Vec<PartitionId>,
    },
    /// LeaveGroup.
    Leave {
        /// The member that goes.
        member_id: String,
    },
    /// ConsumerGroupHeartbeat, in a version in which the member chooses its id (1 or later).
    Beat(Beat),
    /// DescribeConfigs of the group: how long is its session?
    Session,
    /// ConsumerGroupDescribe: how many members has the group?
    Members,
}

impl Request {
    /// Whether the broker may answer only once other members have acted. A broker reads nothing
    /// more from a connection on which such a request waits, so others take another connection.
    #[must_use]
    pub const fn waits_for_others(&self) -> bool {
        matches!(self, Self::Join(_) | Self::Sync(_))
    }
}

/// A JoinGroup request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Join {
    /// Empty until the coordinator has given one.
    pub member_id: String,
    /// The assignors that the member offers, the one that it prefers first, each with the encoded
    /// [`Subscription`](super::Subscription).
    pub protocols: Vec<(&'static str, Vec<u8>)>,
}

/// A SyncGroup request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sync {
    /// The member.
    pub member_id: String,
    /// The generation that it joined.
    pub generation: i32,
    /// The assignor of that generation.
    pub protocol: &'static str,
    /// From the leader: each member and its encoded share.
    pub assignments: Vec<(String, Vec<u8>)>,
}

/// A partition of a topic that has this id (KIP-516): a topic of the same name that follows has
/// another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The id of the topic.
    pub topic: u128,
    /// The partition.
    pub partition: PartitionId,
}

/// What a member of the newer protocol holds or may hold.
pub type Share = BTreeSet<TopicPartition>;

/// A ConsumerGroupHeartbeat request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Beat {
    /// The member.
    pub member_id: String,
    /// Its epoch: 0 to join, -1 to leave, -2 to leave for a while.
    pub epoch: i32,
    /// Whether it names all that the member wants, so that the answer names all that it may hold.
    pub whole: bool,
    /// What it names of what the member holds; none if that has not changed.
    pub owned: Option<Vec<TopicPartition>>,
}

/// The answer to a heartbeat of the newer protocol.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Beaten {
    /// The epoch of the member from now on.
    pub epoch: i32,
    /// How soon the broker wants the next one.
    pub interval: Duration,
    /// What the member may hold; none if that has not changed.
    pub assignment: Option<Share>,
}

/// What a broker answers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Response {
    /// To FindCoordinator.
    Coordinator(Broker),
    /// To JoinGroup.
    Joined(Joined),
    /// To SyncGroup: the encoded share.
    Synced(Vec<u8>),
    /// To OffsetFetch: the higher committed offset of both places; a partition without one has no
    /// entry.
    Offsets(BTreeMap<PartitionId, i64>),
    /// To Metadata: the partitions that have leaders.
    Leaders(BTreeSet<PartitionId>),
    /// To ConsumerGroupHeartbeat.
    Beaten(Beaten),
    /// To DescribeConfigs of the group.
    Session(Duration),
    /// To ConsumerGroupDescribe.
    Members(usize),
    /// To Heartbeat, OffsetCommit and LeaveGroup.
    Done,
    /// To any of them.
    Refused {
        /// Why.
        refusal: Refusal,
        /// The member id that comes with MEMBER_ID_REQUIRED.
        member_id: Option<String>,
    },
}

/// The member is in a generation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Joined {
    /// Its id from now on.
    pub member_id: String,
    /// Which generation.
    pub generation: i32,
    /// The assignor that the coordinator chose.
    pub protocol: String,
    /// The member that shares out the partitions.
    pub leader: String,
    /// The assignment of this generation stands; the leader must not make another (KIP-814).
    pub skip_assignment: bool,
    /// To the leader alone: all members.
    pub members: Vec<JoinedMember>,
}

/// A member as the leader sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JoinedMember {
    /// Its id.
    pub member_id: String,
    /// Its instance id, if it is static.
    pub instance_id: Option<String>,
    /// Its encoded subscription.
    pub metadata: Vec<u8>,
}
