//! The objective of a topology.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tandem_facts::time::Span;

/// The objective of a topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an objective, as in {joint_gap: 0s}")]
pub struct Objective {
    /// The number of leaders of each role in each group, outside of fault and recovery windows.
    #[serde(default = "one")]
    pub leaders_per_group: u32,
    /// The longest time for which a role may have no leader in any group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joint_gap: Option<Span>,
    /// The longest time for which a role may have no leader in one group.
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
