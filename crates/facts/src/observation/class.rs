//! What a fault does to its victims, as far as facts are judged by it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a fault does to its victims. Who judges facts, or watches them, asks this and never the
/// fault's own word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultClass {
    /// It ends their lives, at any instant after it was asked.
    Kills,
    /// It has them leave their group and end; they say by themselves when they lead no more.
    Leaves,
    /// It stops them for a while.
    Pauses,
    /// It stands between them and their brokers: what passes is cut, held, late or changed.
    Intercepts,
    /// It makes their wall clocks wrong.
    Skews,
    /// It starts a second life beside each of them, which leaves in the end.
    Duplicates,
    /// It ends brokers, or stops them for a while.
    Brokers,
    /// Only its author knows what it does.
    Other,
    /// It does nothing.
    Nothing,
}

impl FaultClass {
    /// Whether a life that it is asked of ends by it, sooner or later: that end is no accident.
    #[must_use]
    pub const fn ends_lives(self) -> bool {
        match self {
            Self::Kills | Self::Leaves | Self::Duplicates => true,
            Self::Pauses
            | Self::Intercepts
            | Self::Skews
            | Self::Brokers
            | Self::Other
            | Self::Nothing => false,
        }
    }

    /// Whether a life that it is asked of leaves its group in an orderly way.
    #[must_use]
    pub const fn has_them_leave(self) -> bool {
        match self {
            Self::Leaves | Self::Duplicates => true,
            Self::Kills
            | Self::Pauses
            | Self::Intercepts
            | Self::Skews
            | Self::Brokers
            | Self::Other
            | Self::Nothing => false,
        }
    }

    /// Whether what its victims do and believe says little until it is healed, and the heal
    /// disturbs their groups once more.
    #[must_use]
    pub const fn holds(self) -> bool {
        match self {
            Self::Intercepts | Self::Duplicates | Self::Other => true,
            Self::Kills
            | Self::Leaves
            | Self::Pauses
            | Self::Skews
            | Self::Brokers
            | Self::Nothing => false,
        }
    }
}
