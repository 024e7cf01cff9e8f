//! The inputs and outputs of the core, as values.

use tandem_facts::ids::{Life, PartitionId};
use tandem_facts::observation::{Ending, Horizon};
use tandem_facts::time::Mono;

/// A message of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// Where.
    pub partition: PartitionId,
    /// When this very life of the member sent it; `None` for the messages of others, and for those
    /// that do not say.
    pub sent: Option<Mono>,
}

/// What makes a member publish its beacons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pulse {
    /// The clock: each `tau`.
    #[default]
    Clock,
    /// The program: each `tau` at most, and only after a call of
    /// [`handle_pulse`](crate::Neli::handle_pulse) since the last. In the fast mode a program that
    /// hangs so loses its claim after `Q`.
    Program,
}

/// What a consumer group reports to its member. Every implementation of group membership is reduced
/// to these events.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Membership {
    /// The member holds exactly these partitions from now on.
    Assigned(Assignment),
    /// An orderly rebalance revokes these partitions.
    Revoked(Vec<PartitionId>),
    /// The member was out of contact: another member may already hold these partitions.
    Lost(Vec<PartitionId>),
}

/// What the group assigned to a member.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Assignment {
    /// The generation of the group, where the client reports it.
    pub generation: Option<i32>,
    /// The member id that the broker assigned, where the client reports it.
    pub member_id: Option<String>,
    /// All partitions that the member holds.
    pub partitions: Vec<PartitionId>,
}

/// A change of leadership.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Event {
    /// A claim begins at `from`.
    Acquired {
        /// The claim, with its end if it is not renewed.
        claim: Horizon,
        /// Its first instant.
        from: Mono,
        /// The owner that is dead or suspected, where the member stands in for one.
        stands_in_for: Option<Life>,
    },
    /// A claim ended at its `until`, the first instant after the claim.
    Ended {
        /// The claim.
        claim: Horizon,
        /// What ended it.
        why: Ending,
    },
}
