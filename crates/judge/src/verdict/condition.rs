//! Stop conditions of a run: `joint.gap > 30s`.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{Comparison, Measure, Subject};
use tandem_facts::time::Span;

/// A gap or an overlap that lasts too long. It keeps its original text, and is displayed as that
/// text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Condition {
    text: String,
    /// The groups that the condition is about.
    pub subject: Subject,
    /// A gap or an overlap.
    pub measure: Measure,
    /// `>` or `>=`.
    pub comparison: Comparison,
    /// The duration.
    pub than: Span,
}

impl Condition {
    /// Combines the parts, which the parser has checked.
    pub(super) fn new(
        text: &str,
        (subject, measure): (Subject, Measure),
        (comparison, than): (Comparison, Span),
    ) -> Self {
        Self { text: text.to_owned(), subject, measure, comparison, than }
    }

    /// The condition's original text.
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
