//! The parts of a topology that can be written in more than one way.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize as DeserializeDerive, Serialize};

use super::Secret;
use crate::ids::HostName;
use crate::time::Span;

/// A cluster: `embedded`, or somebody's brokers.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub enum Cluster {
    /// A broker of our own, a process a cluster: for first use, tests and chaos.
    Embedded(Embedded),
    /// Somebody's brokers.
    Brokers(Brokers),
}

/// A broker of our own: the word `embedded`, or `{embedded: {host: alpha}}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, DeserializeDerive)]
#[serde(deny_unknown_fields, expecting = "where an embedded cluster stands, as in {host: alpha}")]
pub struct Embedded {
    /// The machine that the broker runs on: declared, not verified. No host shares none.
    pub host: Option<HostName>,
}

impl JsonSchema for Embedded {
    fn schema_name() -> Cow<'static, str> {
        "Embedded".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let host = generator.subschema_for::<HostName>();
        json_schema!({"anyOf": [
            {"const": "embedded"},
            {
                "type": "object",
                "properties": {"embedded": {
                    "type": "object",
                    "description": "The machine that the broker runs on, as in {host: alpha}.",
                    "properties": {"host": host},
                    "additionalProperties": false
                }},
                "required": ["embedded"],
                "additionalProperties": false
            }
        ]})
    }
}

/// Somebody's brokers, and how to speak to them.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Brokers {
    /// `host:port`, several with commas.
    pub bootstrap: String,
    /// For how long, at most, the cluster has no broker in the place of one that died; 15s unless
    /// given, which is what Kafka's own settings come to.
    pub failover: Option<Span>,
    /// How long the cluster takes, at most, from the start of its brokers, where all were down,
    /// until it serves; 30s unless given.
    pub start_up: Option<Span>,
    /// Client properties that every connection uses, as librdkafka names them.
    #[schemars(default)]
    pub properties: BTreeMap<String, String>,
    /// Client properties whose values stand elsewhere and are never shown.
    #[schemars(default)]
    pub secrets: BTreeMap<String, Elsewhere>,
    /// What the controller says instead of the same keys above: as whom it provisions, where that
    /// is not who the members are.
    #[schemars(default)]
    pub controller: OtherAccess,
}

/// How somebody else than the members speaks to brokers.
#[derive(Debug, Clone, Default, PartialEq, Eq, DeserializeDerive, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "what differs, as in {properties: {sasl.username: u}}")]
pub struct OtherAccess {
    /// Client properties.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
    /// Client properties whose values stand elsewhere and are never shown.
    #[serde(default)]
    pub secrets: BTreeMap<String, Elsewhere>,
}

/// Where a secret stands; nothing where somebody wrote something else there, which may be the
/// secret itself and must not be told to anybody.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(transparent)]
pub struct Elsewhere(#[schemars(with = "Secret")] pub Option<Secret>);

impl<'de> Deserialize<'de> for Elsewhere {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Secret::deserialize(deserializer).ok()))
    }
}

/// All that can be said of a cluster; what does not belong together is found where its place is
/// known.
#[derive(DeserializeDerive)]
#[serde(deny_unknown_fields, expecting = "a cluster, as in {bootstrap: \"127.0.0.1:9092\"}")]
struct Described {
    embedded: Option<Embedded>,
    bootstrap: Option<String>,
    failover: Option<Span>,
    start_up: Option<Span>,
    #[serde(default)]
    properties: BTreeMap<String, String>,
    #[serde(default)]
    secrets: BTreeMap<String, Elsewhere>,
    #[serde(default)]
    controller: OtherAccess,
    /// Wherever it is written here, that is a mistake of which more is to be said.
    #[serde(rename = "host")]
    _host: Option<IgnoredAny>,
}

impl<'de> Deserialize<'de> for Cluster {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ClusterVisitor;
        impl<'de> Visitor<'de> for ClusterVisitor {
            type Value = Cluster;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`embedded`, or {bootstrap: \"127.0.0.1:9092\"}")
            }
            fn visit_str<E: Error>(self, word: &str) -> Result<Cluster, E> {
                if word == "embedded" {
                    return Ok(Cluster::Embedded(Embedded::default()));
                }
                Err(E::custom(format!(
                    "unknown cluster {word:?}\n`embedded`, or {{bootstrap: \"127.0.0.1:9092\"}}"
                )))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Cluster, A::Error> {
                let said = Described::deserialize(MapAccessDeserializer::new(map))?;
                if let Some(embedded) = said.embedded {
                    return Ok(Cluster::Embedded(embedded));
                }
                Ok(Cluster::Brokers(Brokers {
                    bootstrap: said
                        .bootstrap
                        .ok_or_else(|| A::Error::missing_field("bootstrap"))?,
                    failover: said.failover,
                    start_up: said.start_up,
                    properties: said.properties,
                    secrets: said.secrets,
                    controller: said.controller,
                }))
            }
        }
        deserializer.deserialize_any(ClusterVisitor)
    }
}

/// What groups can share, so that one fault hits both.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Shareable {
    /// A member; by construction groups share none.
    Member,
    /// The ledger.
    Topic,
    /// The consumer group; never shared, whatever is said.
    Group,
    /// The machine, as declared.
    Host,
    /// The brokers.
    Cluster,
    /// The broker that coordinates the consumer group.
    Coordinator,
}

impl fmt::Display for Shareable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Member => "member",
            Self::Topic => "topic",
            Self::Group => "group",
            Self::Host => "host",
            Self::Cluster => "cluster",
            Self::Coordinator => "coordinator",
        })
    }
}
