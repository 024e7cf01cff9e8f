//! The words of network faults in experiment files.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::wire;
use crate::yaml::choices;

/// What happens to stopped traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Behavior {
    /// It is lost; a connection that lost bytes is reset when the fault is healed.
    #[default]
    Drop,
    /// It is held, and delivered when the fault is healed.
    Stall,
    /// Connections are reset, and new ones as soon as they are accepted.
    Reset,
}

/// The direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Way {
    /// Both ways.
    #[default]
    Both,
    /// What members send.
    ToBroker,
    /// What brokers send.
    ToMember,
}

/// Some of the requests that clients send, by Kafka's numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Apis(pub BTreeSet<i16>);

/// Words for several requests at once.
const CLASSES: [(&str, &[i16]); 2] = [("coordinator", &wire::COORDINATOR), ("data", &wire::DATA)];

impl Apis {
    fn named<E: Error>(word: &str) -> Result<BTreeSet<i16>, E> {
        if let Some((_, numbers)) = CLASSES.iter().find(|(class, _)| *class == word) {
            return Ok(numbers.iter().copied().collect());
        }
        if let Some(number) = wire::api_named(word) {
            return Ok([number].into());
        }
        let names = wire::api_names();
        let known = CLASSES.iter().map(|(class, _)| *class).chain(names.iter().map(String::as_str));
        let message = format!("members send no request `{word}`\n{}", choices(word, known));
        Err(E::custom(message))
    }
}

/// The name of a request, or of several.
struct ApiName(BTreeSet<i16>);

impl<'de> Deserialize<'de> for ApiName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Apis::named(&String::deserialize(deserializer)?).map(Self)
    }
}

impl<'de> Deserialize<'de> for Apis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ApisVisitor;
        impl<'de> Visitor<'de> for ApisVisitor {
            type Value = Apis;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a list of requests as [heartbeat, join_group], `coordinator` or `data`",
                )
            }
            fn visit_str<E: Error>(self, word: &str) -> Result<Apis, E> {
                Apis::named(word).map(Apis)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Apis, A::Error> {
                let mut numbers = BTreeSet::new();
                while let Some(ApiName(more)) = list.next_element()? {
                    numbers.extend(more);
                }
                Ok(Apis(numbers))
            }
        }
        deserializer.deserialize_any(ApisVisitor)
    }
}

impl JsonSchema for Apis {
    fn schema_name() -> Cow<'static, str> {
        "Requests".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let classes = CLASSES.map(|(class, _)| class);
        let names: Vec<_> =
            classes.iter().map(|class| (*class).to_owned()).chain(wire::api_names()).collect();
        json_schema!({
            "anyOf": [
                {"enum": classes},
                {"type": "array", "minItems": 1, "items": {
                    "anyOf": [
                        {"enum": names},
                        {"type": "string", "description": "Kafka's own name."}
                    ]
                }}
            ]
        })
    }
}

/// One of Kafka's errors, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ErrorWord(pub i16);

impl<'de> Deserialize<'de> for ErrorWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        if let Some(code) = wire::error_named(&word) {
            return Ok(Self(code));
        }
        if let Some(code) = word.parse().ok().filter(|code| wire::is_error(*code)) {
            return Ok(Self(code));
        }
        let names = wire::error_names();
        let hint = match choices(&word, names.iter().map(String::as_str)) {
            near if near.starts_with("did you mean") => near,
            _ => "write it as Kafka does, as in NOT_COORDINATOR, or its number".to_owned(),
        };
        Err(D::Error::custom(format!("Kafka has no error `{word}`\n{hint}")))
    }
}

impl JsonSchema for ErrorWord {
    fn schema_name() -> Cow<'static, str> {
        "KafkaError".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "string"}, {"type": "integer"}]})
    }
}

/// A broker, by its number or its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BrokerSpec {
    /// Its number, `node.id`.
    Node(i32),
    /// Where it says that it listens.
    Address(String),
}

impl<'de> Deserialize<'de> for BrokerSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        if let Ok(number) = word.parse() {
            return Ok(Self::Node(number));
        }
        let (host, port) = word.rsplit_once(':').unwrap_or_default();
        if !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0) {
            return Ok(Self::Address(word));
        }
        let message = format!("{word:?} is no broker\nwrite \"host:port\", or its number");
        Err(D::Error::custom(message))
    }
}

impl JsonSchema for BrokerSpec {
    fn schema_name() -> Cow<'static, str> {
        "Broker".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{"type": "integer"}, {"type": "string", "pattern": r"^.+:\d+$"}]
        })
    }
}

/// Bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rate(pub u64);

/// Multiples of 1000, not 1024, as usual for networks.
const UNITS: [(&str, u64); 3] = [("B/s", 1), ("kB/s", 1_000), ("MB/s", 1_000_000)];

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let end = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
        let (number, unit) = word.split_at(end);
        let unit = UNITS.iter().find(|(name, _)| *name == unit.trim());
        let rate = number.parse().ok().zip(unit);
        let rate = rate.and_then(|(number, (_, unit)): (u64, _)| number.checked_mul(*unit));
        match rate {
            Some(0) => {
                Err(D::Error::custom("a rate of 0 lets nothing pass\nuse `fault: partition`"))
            }
            Some(rate) => Ok(Self(rate)),
            None => {
                let message = format!("{word:?} is no rate\nwrite a whole number and its unit: ");
                Err(D::Error::custom(message + "B/s, kB/s or MB/s, as in 100kB/s"))
            }
        }
    }
}

impl JsonSchema for Rate {
    fn schema_name() -> Cow<'static, str> {
        "Rate".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A number and its unit, as in 100kB/s.",
            "pattern": r"^\d+ *(B|kB|MB)/s$"
        })
    }
}
