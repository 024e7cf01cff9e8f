//! The objective of a topology, and the limits on experiments.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Span;

/// Limits on the faults of an experiment; an absent field means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "limits, as in {members: 50%, groups: 1, time: 10m}")]
pub struct Allowance {
    /// The most members of one group that faults may have down at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<Share>,
    /// The most groups that faults may hit at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<u32>,
    /// The longest time that the experiment may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
}

impl Allowance {
    /// These limits, with those of `other` for absent fields.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            members: self.members.or(other.members),
            groups: self.groups.or(other.groups),
            time: self.time.or(other.time),
        }
    }
}

/// A part of a whole: a number, or a percentage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Share {
    /// A number.
    Count(u32),
    /// A percentage.
    Percent(u32),
}

/// A text that is not a share.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no share: write a number, or a percentage up to 100%")]
pub struct ShareError(String);

impl Share {
    /// The most of `whole` that the share allows; a percentage is rounded down.
    #[must_use]
    pub fn at_most(self, whole: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => {
                let most = u64::from(whole) * u64::from(percent) / 100;
                u32::try_from(most).unwrap_or(u32::MAX)
            }
        }
    }

    /// The share of `whole`; a percentage is rounded up.
    #[must_use]
    pub fn of(self, whole: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => {
                let most = u64::from(whole) * u64::from(percent);
                u32::try_from(most.div_ceil(100)).unwrap_or(u32::MAX)
            }
        }
    }
}

impl FromStr for Share {
    type Err = ShareError;
    fn from_str(text: &str) -> Result<Self, ShareError> {
        let error = || ShareError(text.to_owned());
        match text.strip_suffix('%') {
            Some(percent) => match percent.parse() {
                Ok(percent) if percent <= 100 => Ok(Self::Percent(percent)),
                Ok(_) | Err(_) => Err(error()),
            },
            None => text.parse().map(Self::Count).map_err(|_| error()),
        }
    }
}

impl TryFrom<String> for Share {
    type Error = ShareError;
    fn try_from(text: String) -> Result<Self, ShareError> {
        text.parse()
    }
}

impl From<Share> for String {
    fn from(share: Share) -> Self {
        share.to_string()
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl JsonSchema for Share {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Share".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A number, or a percentage as in 50%.",
            "type": ["integer", "string"],
            "minimum": 0,
            "pattern": r"^(\d+|\d+%)$"
        })
    }
}
