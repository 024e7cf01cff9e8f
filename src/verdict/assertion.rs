//! One claim of an experiment: `joint.gap.max == 0ms`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Assertion(String);

/// Why a text is no claim.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no assertion")]
pub struct AssertionError(String);

impl FromStr for Assertion {
    type Err = AssertionError;
    fn from_str(text: &str) -> Result<Self, AssertionError> {
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for Assertion {
    type Error = AssertionError;
    fn try_from(text: String) -> Result<Self, AssertionError> {
        text.parse()
    }
}

impl From<Assertion> for String {
    fn from(assertion: Assertion) -> Self {
        assertion.to_string()
    }
}

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
