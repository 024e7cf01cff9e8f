//! The words of experiment files: faults, modes, `any` and `all`, and faults that this version
//! lacks.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Kind, Pick};
use crate::ids::GroupName;
use crate::topology::Share;
use crate::yaml::choices;

/// A name, or `any`: a seeded choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrAny<N> {
    /// A seeded choice.
    Any,
    /// This one.
    This(N),
}

impl<N> OrAny<N> {
    /// The name, if there is one.
    #[must_use]
    pub fn this(self) -> Option<N> {
        match self {
            Self::Any => None,
            Self::This(name) => Some(name),
        }
    }
}

impl<'de, N: Deserialize<'de> + TryFrom<String, Error: Display>> Deserialize<'de> for OrAny<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "any" {
            return Ok(Self::Any);
        }
        text.try_into().map(Self::This).map_err(D::Error::custom)
    }
}

impl<N> JsonSchema for OrAny<N> {
    fn schema_name() -> Cow<'static, str> {
        "NameOrAny".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "description": "A name, or any: a seeded choice."})
    }
}

/// `all`, or names.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub enum AllOr {
    /// All of them.
    All(All),
    /// These.
    These(Vec<GroupName>),
}

/// The word `all`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub enum All {
    /// All of them.
    All,
}

impl<'de> Deserialize<'de> for AllOr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AllVisitor;
        impl<'de> Visitor<'de> for AllVisitor {
            type Value = AllOr;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`all`, or a list of groups")
            }
            fn visit_str<E: Error>(self, word: &str) -> Result<AllOr, E> {
                if word == "all" {
                    return Ok(AllOr::All(All::All));
                }
                Err(E::invalid_type(Unexpected::Str(word), &self))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<AllOr, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(AllOr::These)
            }
        }
        deserializer.deserialize_any(AllVisitor)
    }
}

/// Faults of the format that this version cannot inject.
const LATER: [&str; 1] = ["starve"];

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let known = Self::ALL.map(Self::as_str);
        if let Some(kind) = Self::ALL.into_iter().find(|kind| kind.as_str() == word) {
            return Ok(kind);
        }
        let elsewhere = |kind: &Self| kind.word().aliases.contains(&word.as_str());
        let message = if let Some(kind) = Self::ALL.into_iter().find(elsewhere) {
            format!("unknown fault `{word}`\nTandem calls it `{}`", kind.as_str())
        } else if LATER.contains(&word.as_str()) {
            format!("this version cannot inject `{word}`\nit can: `{}`", known.join("`, `"))
        } else {
            format!("unknown fault `{word}`\n{}", choices(&word, known))
        };
        Err(D::Error::custom(message))
    }
}

/// The faults of a storm, each with its weight.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(super) struct Weights(pub BTreeMap<Kind, u32>);

impl JsonSchema for Weights {
    fn schema_name() -> Cow<'static, str> {
        "Weights".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let weight = json_schema!({"type": "integer", "minimum": 1, "maximum": 1000});
        let weights =
            Kind::stormy().map(|kind| (kind.as_str().to_owned(), weight.clone().to_value()));
        json_schema!({
            "type": "object",
            "description": "The faults, each with its weight, as in {kill: 3, pause: 1}.",
            "properties": serde_json::Map::from_iter(weights),
            "additionalProperties": false
        })
    }
}

impl JsonSchema for Kind {
    fn schema_name() -> Cow<'static, str> {
        "Fault".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": Self::ALL.map(Self::as_str)})
    }
}

/// Parts per million, faster or slower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ppm(pub i32);

/// The most drift: a clock that loses a second per second stands still, which is another fault.
const PPM_MOST: i32 = 999_999;

impl<'de> Deserialize<'de> for Ppm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let number = word.strip_suffix("ppm").and_then(|number| number.trim().parse().ok());
        match number {
            Some(0) => Err(D::Error::custom("a drift of 0 has no effect")),
            Some(ppm) if (-PPM_MOST..=PPM_MOST).contains(&ppm) => Ok(Self(ppm)),
            Some(_) => {
                let most = format!("{word:?} is more than {PPM_MOST}ppm");
                Err(D::Error::custom(most))
            }
            None => {
                let message = format!("{word:?} is no drift\nwrite parts per million: 500ppm, ");
                Err(D::Error::custom(message + "or -500ppm for a clock that is slow"))
            }
        }
    }
}

impl JsonSchema for Ppm {
    fn schema_name() -> Cow<'static, str> {
        "Drift".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Parts per million, as in 500ppm or -500ppm.",
            "pattern": r"^-?\d+ *ppm$"
        })
    }
}

const PICKS: [(&str, Pick); 5] = [
    ("one", Pick::One),
    ("minority", Pick::Minority),
    ("majority", Pick::Majority),
    ("all", Pick::All),
    ("leaders", Pick::Leaders),
];

impl<'de> Deserialize<'de> for Pick {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        if let Some((_, pick)) = PICKS.iter().find(|(name, _)| *name == word) {
            return Ok(*pick);
        }
        match word.parse() {
            Ok(Share::Count(count)) => Ok(Self::Count(count)),
            Ok(Share::Percent(percent)) => Ok(Self::Percent(percent)),
            Err(_) => {
                let hint = choices(&word, PICKS.map(|(name, _)| name));
                let message = format!("unknown mode `{word}`\n{hint}");
                Err(D::Error::custom(message))
            }
        }
    }
}

impl JsonSchema for Pick {
    fn schema_name() -> Cow<'static, str> {
        "Mode".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                {"enum": PICKS.map(|(name, _)| name)},
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": r"^\d+%?$"}
            ]
        })
    }
}
