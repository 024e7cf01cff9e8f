//! What goes into the core and comes out of it, as values.

use tandem_facts::ids::PartitionId;
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

/// What a consumer group tells its member. Every implementation of group membership speaks this and
/// no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Membership {
    /// The member holds these partitions from now on, and no others.
    Assigned(Assignment),
    /// An orderly rebalance takes these back.
    Revoked(Vec<PartitionId>),
    /// The member was out of touch: these may be somebody else's already.
    Lost(Vec<PartitionId>),
}

/// What a member was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The generation of the group, where the client tells.
    pub generation: Option<i32>,
    /// The broker's name for the member, where the client tells.
    pub member_id: Option<String>,
    /// All that it holds.
    pub partitions: Vec<PartitionId>,
}

/// What has changed about leadership.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A claim begins at `from`.
    Acquired {
        /// The claim, and how far it reaches unless renewed.
        claim: Horizon,
        /// Its first instant.
        from: Mono,
    },
    /// A claim has ended at its `until`, the first instant that is no longer claimed.
    Ended {
        /// The claim.
        claim: Horizon,
        /// What ended it.
        why: Ending,
    },
}
