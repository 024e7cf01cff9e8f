//! The configuration of a member; fixed for its life.

use std::num::NonZeroU32;
use std::time::Duration;

use tandem_facts::ids::{ConsumerGroup, Life, TopicName};
use tandem_facts::observation::Mode;
use tandem_neli::Pulse;

use crate::kafka::Cluster;

/// The configuration of one life of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The member's name and incarnation; also its `client.id`.
    pub life: Life,
    /// The cluster of the member's group.
    pub cluster: Cluster,
    /// The ledger: an existing topic.
    pub topic: TopicName,
    /// The number of the ledger's partitions, `|M|`, which does not change while a group runs.
    pub width: NonZeroU32,
    /// `group.id`.
    pub consumer_group: ConsumerGroup,
    /// `S`: the broker reassigns the partitions of a member that has sent no heartbeat for this
    /// long.
    pub session: Duration,
    /// `h`: the heartbeat interval.
    pub heartbeat: Duration,
    /// The longest wait in one poll.
    pub wake: Duration,
    /// `tau`: the interval at which the member publishes a beacon on every partition, in the fast
    /// mode on those that it holds.
    pub beacon: Duration,
    /// `T`, in the fast mode `Q`: how long a claim outlives the last message of its partition.
    pub threshold: Duration,
    /// When a claim holds and what ends it.
    pub mode: Mode,
    /// What makes it publish.
    pub pulse: Pulse,
    /// `partition.assignment.strategy`.
    pub assignor: String,
}
