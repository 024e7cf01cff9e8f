//! How a run ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All trials ran.
    Completed,
    /// The run could not continue or did not settle, so the result is unknown.
    Broken,
    /// A stop condition or a limit of the experiment ended it.
    Aborted,
    /// A signal ended it.
    Interrupted,
    /// A fault could not be healed.
    Unhealed,
}
