//! The orders of experiments that the witness of a member has refused, by reason.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many orders were refused, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RefusedOrders {
    /// Without a seal of the topology's key.
    #[serde(skip_serializing_if = "is_zero")]
    pub forged: u64,
    /// That came again.
    #[serde(skip_serializing_if = "is_zero")]
    pub replayed: u64,
    /// That came too late, or would hold for too long.
    #[serde(skip_serializing_if = "is_zero")]
    pub expired: u64,
    /// For another life of the member.
    #[serde(skip_serializing_if = "is_zero")]
    pub misdirected: u64,
    /// More than are remembered at a time.
    #[serde(skip_serializing_if = "is_zero")]
    pub crowded: u64,
}

impl RefusedOrders {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        let Self { forged, replayed, expired, misdirected, crowded } = *self;
        [forged, replayed, expired, misdirected, crowded].into_iter().fold(0, u64::saturating_add)
    }

    /// Whether none was refused.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// `1 replayed, 2 forged`, without those of which there is none.
impl fmt::Display for RefusedOrders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            (self.forged, "forged"),
            (self.replayed, "replayed"),
            (self.expired, "expired"),
            (self.misdirected, "misdirected"),
            (self.crowded, "crowded"),
        ];
        let said = all.iter().filter(|(count, _)| *count > 0);
        let said: Vec<_> = said.map(|(count, word)| format!("{count} {word}")).collect();
        f.write_str(&said.join(", "))
    }
}

/// Serde wants a reference.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
