//! One claim of an experiment: `joint.gap.max == 0ms`.
//!
//! ```text
//! (joint|group|group.NAME).(gap|overlap|takeover).(count|min|p50|p95|p99|max)
//!     (==|<=|<|>=|>) (duration | integer | bound.(joint|group).(gap|overlap))
//! ```
//!
//! `group` means each group. A count is compared with an integer, everything else with a duration
//! or a bound. Takeovers are for groups only: service passes within a group, never between two.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use tandem_facts::ids::GroupName;
use tandem_facts::time::Span;

/// A claim. It keeps the text that it was read from, and is written as that text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Assertion {
    text: String,
    /// About whom.
    pub subject: Subject,
    /// About which intervals.
    pub measure: Measure,
    /// About which number of their distribution.
    pub statistic: Statistic,
    /// How it must compare.
    pub comparison: Comparison,
    /// With what.
    pub limit: Limit,
}

/// About whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// All groups together.
    Joint,
    /// Each group by itself.
    EachGroup,
    /// One group.
    Group(GroupName),
}

/// About which intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Nobody serves.
    Gap,
    /// Two or more claim.
    Overlap,
    /// From one leader to the next.
    Takeover,
}

/// About which number of the distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// How many.
    Count,
    /// The shortest.
    Min,
    /// The median.
    P50,
    /// Nineteen of twenty are no longer.
    P95,
    /// Ninety-nine of a hundred are no longer.
    P99,
    /// The longest.
    Max,
}

/// How the measured value must compare with the limit.
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

/// What the measured value is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// A number of intervals.
    Count(u64),
    /// A duration.
    Duration(Span),
    /// The bound of all groups together.
    JointBound(BoundOf),
    /// The bound of the group that is judged.
    GroupBound(BoundOf),
}

/// Which bound.
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
    /// Puts the parts together; the parser has made sure that they fit.
    pub(super) fn new(
        text: &str,
        (subject, measure, statistic): (Subject, Measure, Statistic),
        (comparison, limit): (Comparison, Limit),
    ) -> Self {
        Self { text: text.to_owned(), subject, measure, statistic, comparison, limit }
    }

    /// The claim as it was written.
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
