//! What a member says of itself, as it happens.

use tandem_facts::ids::{PartitionId, Term};
use tandem_facts::observation::{Ending, Horizon};
use tandem_facts::time::{Mono, Wall};
use tandem_neli::Assignment;

/// Something that happened to a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The group gave it these partitions, and no others.
    Assigned(Assignment),
    /// The group takes these partitions back, in an orderly rebalance.
    Revoked(Vec<PartitionId>),
    /// It was out of touch for so long that these partitions may belong to another member.
    Lost(Vec<PartitionId>),
    /// It begins to lead a partition.
    Claimed {
        /// Which partition.
        partition: PartitionId,
        /// Which of its claims on the partition.
        term: Term,
        /// The first instant of the claim.
        from: Mono,
        /// The first instant that is no longer claimed, unless the claim is renewed.
        until: Mono,
    },
    /// All of its claims and how far each reaches now; each 100 ms while it has any.
    Renewed(Vec<Horizon>),
    /// A claim has ended at `at`, however late this is reported.
    Lapsed {
        /// Which partition.
        partition: PartitionId,
        /// Which of its claims on the partition.
        term: Term,
        /// The first instant that is no longer claimed.
        at: Mono,
        /// What ended it.
        why: Ending,
    },
    /// What its wall clock says, while that is shifted by an experiment and once it is right again.
    Clock(Wall),
    /// It cannot reach its brokers, and its client says why.
    Unconnected(String),
    /// It reaches them again.
    Connected,
    /// It has left the group, or tries to, and claims nothing any more.
    Left,
}
