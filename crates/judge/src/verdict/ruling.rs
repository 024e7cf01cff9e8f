//! Three answers, and what each claim was answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::short;
use tandem_facts::ids::GroupName;

/// What nobody could observe is unknown, never pass.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It held, as far as there was anything to see, and all was seen.
    Pass,
    /// It may or may not have held.
    Unknown,
    /// It did not hold.
    Fail,
}

impl Verdict {
    /// Fail beats unknown, unknown beats pass.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.max(other)
    }

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Unknown => "unknown",
            Self::Fail => "fail",
        }
    }
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// Intervals, leaders or trials, as the claim says.
    Count,
}

/// One claim, about one group or all together, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ruling {
    /// The claim.
    pub text: String,
    /// About which group; nothing where it is about all together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// What was measured; null where there was nothing to measure, which compares as 0.
    pub measured: Option<f64>,
    /// What it was compared with.
    pub limit: f64,
    /// In what both are counted.
    pub unit: Unit,
    /// Whether it held.
    pub outcome: Verdict,
    /// Why not, as a sentence, or why nobody can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Ruling {
    /// What was measured, in a few words.
    #[must_use]
    pub fn measurement(&self) -> String {
        match (self.measured, self.unit) {
            (Some(value), Unit::Ms) => format!("measured {} ms", short(value)),
            (Some(value), Unit::Count) => format!("measured {}", short(value)),
            (None, Unit::Ms) => "none found".to_owned(),
            (None, Unit::Count) => "not measured".to_owned(),
        }
    }

    /// The beginning of a sentence about it.
    pub(super) fn whom(group: Option<&GroupName>) -> String {
        group.map_or_else(|| "All groups together".to_owned(), |name| format!("Group {name}"))
    }
}
