//! What goes into the core and comes out of it, as values.

use tandem_facts::ids::PartitionId;
use tandem_facts::observation::{Ending, Horizon};

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
        from: tandem_facts::time::Mono,
    },
    /// A claim has ended at its `until`, the first instant that is no longer claimed.
    Ended {
        /// The claim.
        claim: Horizon,
        /// What ended it.
        why: Ending,
    },
}
