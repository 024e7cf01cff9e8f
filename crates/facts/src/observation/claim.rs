//! The end of a claim, and the reason for it.

#[cfg(feature = "serde")]
use {
    schemars::JsonSchema,
    serde::{Deserialize, Serialize},
};

use crate::ids::{PartitionId, Term};
use crate::time::Mono;

/// A claim and its end. Serialized as `[partition, term, until_ns]` to save space: each member
/// writes one per claim every 100 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize, JsonSchema),
    serde(from = "(PartitionId, Term, Mono)", into = "(PartitionId, Term, Mono)"),
    schemars(with = "(PartitionId, Term, Mono)")
)]
pub struct Horizon {
    /// The claimed partition.
    pub partition: PartitionId,
    /// Which of the member's claims on the partition.
    pub term: Term,
    /// The first instant after the claim.
    pub until: Mono,
}

impl From<(PartitionId, Term, Mono)> for Horizon {
    fn from((partition, term, until): (PartitionId, Term, Mono)) -> Self {
        Self { partition, term, until }
    }
}

impl From<Horizon> for (PartitionId, Term, Mono) {
    fn from(horizon: Horizon) -> Self {
        (horizon.partition, horizon.term, horizon.until)
    }
}

/// What ended a claim while the member was alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize, JsonSchema),
    serde(rename_all = "snake_case")
)]
pub enum Ending {
    /// The member heard nothing on the partition for the threshold.
    Silence,
    /// The member was asked to leave.
    Left,
    /// The group revoked the partition, in a mode in which that ends a claim.
    Revoked,
    /// Another member of the group said that it leads the partition, which the group had given it.
    HandedOver,
    /// The member could not prove any longer that its group counts it in.
    Unproven,
}

/// When a claim holds and what ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize, JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Mode {
    /// Revocation ends no claim: only lapse, leave or death does.
    NonExclusive,
    /// The assignee of the only partition leads at once, and as long as it hears its own messages
    /// there. Revocation ends a claim.
    Fast,
    /// An assignee leads while it hears messages, and while it can prove that its group counts it
    /// in. Revocation ends a claim.
    Exclusive,
    /// The paper's own rule for exclusive leadership: an assignee leads while the last message that
    /// it received was stamped by a broker less than the threshold ago, and not before the grace
    /// period is over. It promises what `exclusive` proves, and does not always keep it.
    ExclusivePaper,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::NonExclusive, Self::Fast, Self::Exclusive, Self::ExclusivePaper];

    /// Whether it proves that no two members of a group lead a role at once.
    #[must_use]
    pub const fn is_exclusive(self) -> bool {
        matches!(self, Self::Exclusive)
    }

    /// Whether the election is exclusive: two leaders of a role in one group break its promise,
    /// proved or not, and fail the run.
    #[must_use]
    pub const fn forbids_overlap(self) -> bool {
        matches!(self, Self::Exclusive | Self::ExclusivePaper)
    }

    /// The word that topologies write.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NonExclusive => "non-exclusive",
            Self::Fast => "fast",
            Self::Exclusive => "exclusive",
            Self::ExclusivePaper => "exclusive-paper",
        }
    }
}
