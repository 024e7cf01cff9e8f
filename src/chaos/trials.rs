//! The number of trials of an experiment: fixed, or until a claim holds.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// A number of trials, or a claim to reach.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub enum Trials {
    /// This many.
    Count(#[schemars(range(min = 1, max = 100_000))] u32),
    /// Until the claim holds, or can no longer be shown.
    Until(Sequel),
}

/// As many trials as a claim needs: `{min: 30, max: 300, until: {gap_probability: "< 1%"}}`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "trials, as in 30 or {min: 30, max: 300, until: …}")]
pub struct Sequel {
    /// The minimum; default: 1.
    #[schemars(range(min = 1, max = 100_000))]
    pub min: Option<u32>,
    /// The maximum.
    #[schemars(range(min = 1, max = 100_000))]
    pub max: u32,
    /// The claim.
    pub until: ClaimSpec,
}

/// The claim that a run goes on for.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a claim, as in {gap_probability: \"< 1%\", confidence: 95%}"
)]
pub struct ClaimSpec {
    /// The probability of a joint gap in a trial.
    pub gap_probability: Below,
    /// The confidence of the claim; default: 95%.
    pub confidence: Option<Sure>,
}

/// The probability that the true one must be below.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Below(pub f64);

/// The confidence of a claim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sure(pub f64);

impl<'de> Deserialize<'de> for Trials {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TrialsVisitor;
        impl<'de> Visitor<'de> for TrialsVisitor {
            type Value = Trials;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of trials, or {min, max, until}")
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Trials, E> {
                let count = u32::try_from(number);
                count
                    .map(Trials::Count)
                    .map_err(|_| E::invalid_type(Unexpected::Unsigned(number), &self))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Trials, A::Error> {
                Sequel::deserialize(MapAccessDeserializer::new(map)).map(Trials::Until)
            }
        }
        deserializer.deserialize_any(TrialsVisitor)
    }
}

/// `1%` or `0.01`, between 0 and 1, neither included.
fn share(text: &str) -> Option<f64> {
    let text = text.trim();
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (number > 0.0 && number < 1.0).then_some(number)
}

impl<'de> Deserialize<'de> for Below {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let below = text.trim().strip_prefix('<').and_then(share);
        below.map(Self).ok_or_else(|| {
            D::Error::custom(format!(
                "{text:?} is not a claim about a probability\nwrite an upper bound: \"< 1%\""
            ))
        })
    }
}

impl<'de> Deserialize<'de> for Sure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let sure = share(&text).filter(|share| (0.5..=0.9999).contains(share));
        sure.map(Self).ok_or_else(|| {
            D::Error::custom(format!("{text:?} is no confidence\nwrite 50% to 99.99%, as in 95%"))
        })
    }
}

impl JsonSchema for Below {
    fn schema_name() -> Cow<'static, str> {
        "Below".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "The probability that the true one must be below, as in < 1% or < 0.01.",
            "pattern": r"^\s*<\s*\d*\.?\d+\s*%?\s*$"
        })
    }
}

impl JsonSchema for Sure {
    fn schema_name() -> Cow<'static, str> {
        "Confidence".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The confidence of a claim, as in 95%.",
            "anyOf": [
                {"type": "string", "pattern": r"^\d*\.?\d+\s*%?$"},
                {"type": "number", "minimum": 0.5, "maximum": 0.9999}
            ]
        })
    }
}
