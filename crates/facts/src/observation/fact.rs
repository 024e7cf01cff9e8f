//! A fact: an event, its author's stamp and number, and the life that it is about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::What;
use crate::ids::Life;
use crate::time::Mono;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// When the author stamped the fact.
    #[serde(rename = "t_ns")]
    pub t: Mono,
    /// The fact's number in the order in which its author wrote, from 1. A missing number is a lost
    /// fact.
    pub seq: u64,
    /// The life that the fact is about; none where it is about the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life: Option<Life>,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}
