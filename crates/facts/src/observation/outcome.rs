//! How a run came to its end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All trials were played.
    Completed,
    /// It could not go on, or not settle: what was to be shown is unknown.
    Broken,
    /// A stop condition or a limit of the experiment ended it.
    Aborted,
    /// A signal ended it.
    Interrupted,
    /// Something could not be healed.
    Unhealed,
}
