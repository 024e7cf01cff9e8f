//! One claim of an experiment: `joint.gap.max == 0ms`.
//!
//! ```text
//! (joint|group|group.NAME).(gap|overlap|takeover).(count|min|p50|p95|p99|max)
//!     (==|<=|<|>=|>) (duration | integer | bound.(joint|group).(gap|overlap))
//! ```
//!
//! `group` means each group. A count is compared with an integer, all else with a duration or a
//! bound. Takeovers exist in groups only, since service does not pass between groups.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use tandem_facts::ids::GroupName;
use tandem_facts::time::Span;

/// A claim. It keeps its original text, and is displayed as that text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Assertion {
    text: String,
    /// The groups that the claim is about.
    pub subject: Subject,
    /// The kind of intervals.
    pub measure: Measure,
    /// The statistic of their durations.
    pub statistic: Statistic,
    /// The comparison.
    pub comparison: Comparison,
    /// The limit.
    pub limit: Limit,
}

/// The groups that a claim is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// All groups together.
    Joint,
    /// Each group by itself.
    EachGroup,
    /// One group.
    Group(GroupName),
}

/// The kind of intervals that a claim is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// No member serves.
    Gap,
    /// Two or more members claim.
    Overlap,
    /// From one leader to the next.
    Takeover,
}

/// A statistic of the intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// The number of intervals.
    Count,
    /// The shortest duration.
    Min,
    /// The median duration.
    P50,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
    /// The longest duration.
    Max,
}

/// The comparison of the measured value with the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `<=`
    AtMost,
    /// `<`
    Below,
    /// `>=`
    AtLeast,
    /// `>`
    Above,
}

/// The limit of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// A number of intervals.
    Count(u64),
    /// A duration.
    Duration(Span),
    /// The bound of all groups together.
    JointBound(BoundOf),
    /// The bound of the group under judgement.
    GroupBound(BoundOf),
}

/// The kind of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundOf {
    /// The longest gap.
    Gap,
    /// The longest overlap.
    Overlap,
}

impl Comparison {
    /// Whether `measured` compares with `limit` as claimed.
    #[must_use]
    pub fn holds<T: Ord>(self, measured: &T, limit: &T) -> bool {
        match self {
            Self::Equal => measured == limit,
            Self::AtMost => measured <= limit,
            Self::Below => measured < limit,
            Self::AtLeast => measured >= limit,
            Self::Above => measured > limit,
        }
    }
}

impl Assertion {
    /// Combines the parts, which the parser has checked.
    pub(super) fn new(
        text: &str,
        (subject, measure, statistic): (Subject, Measure, Statistic),
        (comparison, limit): (Comparison, Limit),
    ) -> Self {
        Self { text: text.to_owned(), subject, measure, statistic, comparison, limit }
    }

    /// The claim's original text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl TryFrom<String> for Assertion {
    type Error = super::AssertionError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Assertion> for String {
    fn from(assertion: Assertion) -> Self {
        assertion.text
    }
}

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}
