//! What a member reports about itself.

use tandem_facts::ids::{Life, PartitionId, Term};
use tandem_facts::observation::{Ending, Horizon};
use tandem_facts::time::{Mono, Wall};
use tandem_neli::{Assignment, Misfit};

/// An event in the life of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The group assigned exactly these partitions to the member.
    Assigned(Assignment),
    /// The group revokes these partitions in an orderly rebalance.
    Revoked(Vec<PartitionId>),
    /// The member was out of contact for so long that these partitions may belong to another
    /// member.
    Lost(Vec<PartitionId>),
    /// The member starts to lead a partition.
    Claimed {
        /// The claimed partition.
        partition: PartitionId,
        /// Which of the member's claims on the partition.
        term: Term,
        /// The first instant of the claim.
        from: Mono,
        /// The first instant after the claim, if it is not renewed.
        until: Mono,
        /// The life whose death or silence makes the member stand in for it, if that is why.
        stands_in_for: Option<Life>,
        /// In the exclusive mode: a number above that of every earlier owner of the partition. A
        /// store that refuses lower ones refuses the writes of a former leader.
        fence: Option<i64>,
    },
    /// All claims of the member with their current ends; every 100 ms while there are any.
    Renewed(Vec<Horizon>),
    /// A claim ended at `at`, which is exact even if this event is reported later.
    Lapsed {
        /// The claimed partition.
        partition: PartitionId,
        /// Which of the member's claims on the partition.
        term: Term,
        /// The first instant after the claim.
        at: Mono,
        /// What ended it.
        why: Ending,
    },
    /// The reading of the member's wall clock, while an experiment shifts it and once it is right
    /// again.
    Clock(Wall),
    /// The member cannot reach its brokers, for the reason that its Kafka client reports.
    Unconnected(String),
    /// The member reaches its brokers again.
    Connected,
    /// The member does not work with another one of its group, which was there before it: it leaves
    /// and ends.
    Refused(Misfit),
    /// The member has left the group or is trying to, and claims nothing any more.
    Left,
}
