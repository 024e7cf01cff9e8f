//! What is promised.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tandem_facts::time::Span;

/// What is promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an objective, as in {joint_gap: 0s}")]
pub struct Objective {
    /// So many leaders has each role in each group, outside fault and recovery windows.
    #[serde(default = "one")]
    pub leaders_per_group: u32,
    /// No role is without a leader in all groups at once for longer than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joint_gap: Option<Span>,
    /// No role is without a leader in one group for longer than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_gap: Option<Span>,
}

fn one() -> u32 {
    1
}

impl Default for Objective {
    fn default() -> Self {
        Self { leaders_per_group: one(), joint_gap: None, group_gap: None }
    }
}
