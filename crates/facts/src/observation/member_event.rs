//! What a member reports about itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ending, Horizon, event_schema};
use crate::ids::{Life, PartitionId, Term};
use crate::time::{Mono, Wall};

/// What a member reports about itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = event_schema::among_others)]
pub enum MemberEvent {
    /// The group assigned exactly these partitions to the member.
    Assigned {
        /// The generation of the group, where the client reports it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generation: Option<i32>,
        /// The member id that the broker assigned, where the client reports it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        member_id: Option<String>,
        /// All partitions that the member holds from now on.
        partitions: Vec<PartitionId>,
    },
    /// The group revokes these partitions in an orderly rebalance.
    Revoked {
        /// The partitions that the member no longer holds.
        partitions: Vec<PartitionId>,
    },
    /// The member was out of contact for so long that these partitions may belong to another
    /// member.
    Lost {
        /// The partitions that the member no longer holds.
        partitions: Vec<PartitionId>,
    },
    /// The member starts to claim a partition.
    Claimed {
        /// The claimed partition.
        partition: PartitionId,
        /// Which of the member's claims on the partition.
        term: Term,
        /// The first instant of the claim.
        #[serde(rename = "from_ns")]
        from: Mono,
        /// The first instant after the claim, if it is not renewed.
        #[serde(rename = "until_ns")]
        until: Mono,
        /// The life whose death or silence makes the member stand in for it, if that is why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stands_in_for: Option<Life>,
        /// In exclusive mode: a number above that of every earlier owner of the partition.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fence: Option<i64>,
    },
    /// All claims of the member with their current ends; written every 100 ms while there are any.
    Renewed {
        /// One entry per claim.
        claims: Vec<Horizon>,
    },
    /// A claim ended at `at`, which is exact even if this fact is written later.
    Lapsed {
        /// The claimed partition.
        partition: PartitionId,
        /// Which of the member's claims on the partition.
        term: Term,
        /// The first instant after the claim.
        #[serde(rename = "at_ns")]
        at: Mono,
        /// What ended it.
        why: Ending,
    },
    /// The member's stand-in duty ticked for these partitions from `from` to `until`, with at most
    /// 100 ms between two ticks.
    Ticks {
        /// The partitions that the member led at each of the ticks.
        partitions: Vec<PartitionId>,
        /// The first of these ticks.
        #[serde(rename = "from_ns")]
        from: Mono,
        /// The last of them so far.
        #[serde(rename = "until_ns")]
        until: Mono,
    },
    /// The channel to the controller was full. The member's facts between these instants are
    /// unknown.
    Hole {
        /// When the first fact was dropped.
        #[serde(rename = "from_ns")]
        from: Mono,
        /// When the channel took facts again; a `renewed` with all claims follows.
        #[serde(rename = "until_ns")]
        until: Mono,
    },
    /// The reading of the member's wall clock. Written when a fault shifts the clock, every 100 ms
    /// while it is wrong, and when it is right again.
    Clock {
        /// In milliseconds since 1970-01-01 UTC.
        #[serde(rename = "wall_ms")]
        wall: Wall,
    },
    /// The host did not schedule the duty's thread: it woke later than it asked to.
    Late {
        /// When the thread went to sleep; earlier, if it had waited for a processor before that.
        #[serde(rename = "from_ns")]
        from: Mono,
        /// When the thread ran again.
        #[serde(rename = "until_ns")]
        until: Mono,
        /// For how much of this time the thread was runnable and waited for a processor, as the
        /// kernel counts; none if the kernel does not report it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waited_ns: Option<u64>,
    },
    /// The member cannot reach its brokers: it received no message and delivered no beacon for a
    /// while, and its Kafka client reports why.
    Unconnected {
        /// The client's reason.
        why: String,
    },
    /// The member reaches its brokers again.
    Connected,
    /// The member leaves its group for good: it does not work with the versions of members that
    /// were there before it.
    Refused {
        /// Both versions, in words.
        why: String,
    },
    /// The member was asked to leave. It has left the group or is trying to, and claims nothing any
    /// more.
    Leaving,
}
