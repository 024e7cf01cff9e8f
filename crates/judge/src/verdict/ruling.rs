//! The three-valued verdict, and the ruling on one claim.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::short;
use tandem_facts::ids::GroupName;

/// The verdict on a claim. What was not observed is unknown, never pass.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The claim held, and everything that matters was observed.
    Pass,
    /// The claim may or may not have held.
    Unknown,
    /// The claim did not hold.
    Fail,
}

impl Verdict {
    /// Fail beats unknown, unknown beats pass.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.max(other)
    }

    /// The verdict as a word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Unknown => "unknown",
            Self::Fail => "fail",
        }
    }
}

/// The unit of a measured value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// A number of intervals, leaders or trials.
    Count,
}

/// The ruling on one claim for one group, or for all groups together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ruling {
    /// The text of the claim.
    pub text: String,
    /// The group; none for all groups together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// The measured value; null if there was nothing to measure, which compares as 0.
    pub measured: Option<f64>,
    /// The limit.
    pub limit: f64,
    /// The unit of both.
    pub unit: Unit,
    /// The verdict.
    pub outcome: Verdict,
    /// Why the claim failed or is unknown, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Ruling {
    /// The measured value as text.
    #[must_use]
    pub fn measurement(&self) -> String {
        match (self.measured, self.unit) {
            (Some(value), Unit::Ms) => format!("measured {} ms", short(value)),
            (Some(value), Unit::Count) => format!("measured {}", short(value)),
            (None, Unit::Ms) => "none found".to_owned(),
            (None, Unit::Count) => "not measured".to_owned(),
        }
    }

    /// The subject of a sentence about the group.
    pub(super) fn subject(group: Option<&GroupName>) -> String {
        group.map_or_else(|| "All groups together".to_owned(), |name| format!("Group {name}"))
    }
}
