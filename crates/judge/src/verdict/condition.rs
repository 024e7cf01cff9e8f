//! When a run must end early: `joint.gap > 30s`.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{Comparison, Measure, Subject};
use tandem_facts::time::Span;

/// A gap or an overlap that lasts for too long. It keeps the text that it was read from, and is
/// written as that text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Condition {
    text: String,
    /// About whom.
    pub subject: Subject,
    /// A gap or an overlap.
    pub measure: Measure,
    /// Above, or at least.
    pub comparison: Comparison,
    /// For how long.
    pub than: Span,
}

impl Condition {
    /// Puts the parts together; the parser has made sure that they fit.
    pub(super) fn new(
        text: &str,
        (subject, measure): (Subject, Measure),
        (comparison, than): (Comparison, Span),
    ) -> Self {
        Self { text: text.to_owned(), subject, measure, comparison, than }
    }

    /// The condition as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl TryFrom<String> for Condition {
    type Error = super::AssertionError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Condition> for String {
    fn from(condition: Condition) -> Self {
        condition.text
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl JsonSchema for Condition {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Condition".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A gap or an overlap that lasts for too long, as in joint.gap > 30s.",
            "pattern": r"^\s*(joint|group(\.[A-Za-z0-9._-]+)?)\.(gap|overlap)\s*(>|>=)\s*\d.*$"
        })
    }
}
