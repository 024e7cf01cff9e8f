//! What a fault does to its victims, as far as the verdict is concerned.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a fault does to its victims. Code that judges or watches facts matches on this class, never
/// on the fault's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultClass {
    /// Ends the victims' lives, at some instant after the fault was asked for.
    Kills,
    /// Makes the victims leave their group and exit. They report the end of their claims
    /// themselves.
    Leaves,
    /// Stops the victims for a while.
    Pauses,
    /// Intercepts the traffic between the victims and their brokers: cuts, holds, delays or changes
    /// it.
    Intercepts,
    /// Shifts the victims' wall clocks.
    Skews,
    /// Starts a second life beside each victim; the second life leaves in the end.
    Duplicates,
    /// Ends brokers, or stops them for a while.
    Brokers,
    /// A user's own fault: its effect is unknown to Tandem.
    Other,
    /// Has no effect.
    Nothing,
}

impl FaultClass {
    /// Whether the fault ends its victims' lives sooner or later, so that their deaths are
    /// expected.
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

    /// Whether the victims leave their group in an orderly way.
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

    /// Whether the victims' facts mean little until the fault is healed, and healing it disturbs
    /// their groups again.
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
