//! What a member is given at its start; fixed for its life.

use std::num::NonZeroU32;
use std::time::Duration;

use tandem_facts::ids::{ConsumerGroup, Life, TopicName};

use crate::kafka::{Cluster, MembershipClient};

/// What one life of one member needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Its name and incarnation; also its `client.id`.
    pub life: Life,
    /// Its cluster.
    pub cluster: Cluster,
    /// The ledger: a topic that exists.
    pub topic: TopicName,
    /// The ledger's number of partitions, `|M|`; it never changes while a group runs.
    pub width: NonZeroU32,
    /// `group.id`.
    pub consumer_group: ConsumerGroup,
    /// `S`: the broker reassigns the partitions of a member that it has not heard from for so long.
    pub session: Duration,
    /// `h`: how often the member shows the broker that it lives.
    pub heartbeat: Duration,
    /// The longest wait in one poll.
    pub wake: Duration,
    /// `tau`: how often it publishes on every partition.
    pub beacon: Duration,
    /// `T`: for how long a claim outlives the last message of its partition.
    pub threshold: Duration,
    /// `partition.assignment.strategy`.
    pub assignor: String,
    /// What speaks for the member in its group.
    pub membership: MembershipClient,
}
