//! The parts of a topology file that have more than one form.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize as DeserializeDerive, Serialize};

use super::{Ensemble, Secret};
use crate::ids::HostName;
use crate::time::Span;

/// A cluster: `embedded`, or external brokers.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub enum Cluster {
    /// An embedded broker, one process per cluster: for first use, tests and chaos.
    Embedded(Embedded),
    /// External brokers.
    Brokers(Brokers),
    /// etcd, for groups that elect over it.
    Etcd(EtcdStore),
    /// ZooKeeper, for groups that elect over it.
    ZooKeeper(ZooKeeperServers),
    /// NATS, for groups that elect over it.
    Nats(NatsServers),
}

/// etcd 3.4 or later.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct EtcdStore {
    /// Its address: `http://host:port`, or `https://host:port` with TLS; those of several servers,
    /// with commas.
    pub etcd: String,
    /// Where certificates and keys for TLS are: `ssl.ca.location`, `ssl.certificate.location`,
    /// `ssl.key.location`.
    #[schemars(default)]
    pub properties: BTreeMap<String, String>,
}

/// ZooKeeper 3.5 or later.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ZooKeeperServers {
    /// The addresses of its servers: `host:port`, separated by commas.
    pub zookeeper: String,
    /// Their `tickTime`; default: 2s, as in ZooKeeper's sample configuration.
    pub tick: Option<Span>,
    /// Their `syncLimit`; default: 5, as in ZooKeeper's sample configuration; 0 for one server
    /// without others.
    pub sync_limit: Option<u32>,
    /// `security.protocol: ssl` for TLS, and where certificates and keys are, as for etcd.
    #[schemars(default)]
    pub properties: BTreeMap<String, String>,
}

impl ZooKeeperServers {
    /// The servers as planned.
    pub(super) fn ensemble(&self) -> Ensemble {
        Ensemble::new(self.zookeeper.clone(), self.tick, self.sync_limit)
    }
}

/// NATS 2.9 or later.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct NatsServers {
    /// Its address: `host:port`; those of several servers of one NATS cluster, with commas.
    pub nats: String,
    /// `security.protocol: ssl` for TLS, and where certificates and keys are, as for etcd.
    #[schemars(default)]
    pub properties: BTreeMap<String, String>,
}

/// An embedded broker: the word `embedded`, or `{embedded: {host: alpha}}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, DeserializeDerive)]
#[serde(deny_unknown_fields, expecting = "the host of an embedded cluster, as in {host: alpha}")]
pub struct Embedded {
    /// The machine that the broker runs on: declared, not verified. Without it, the broker shares
    /// no machine.
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

/// External brokers, and how to connect to them.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Brokers {
    /// `host:port`, separated by commas. A protocol before an address, as in `SSL://kafka:9093`,
    /// has to be that of the property `security.protocol`.
    pub bootstrap: String,
    /// The longest time until other brokers take over from one that died; default: 15s, which
    /// follows from Kafka's default settings.
    pub failover: Option<Span>,
    /// The longest time from the start of its brokers, if all were down, until the cluster serves;
    /// default: 30s.
    pub start_up: Option<Span>,
    /// Client properties that every connection uses, as librdkafka names them.
    #[schemars(default)]
    pub properties: BTreeMap<String, String>,
    /// Client properties whose values are stored elsewhere and never shown.
    #[schemars(default)]
    pub secrets: BTreeMap<String, Elsewhere>,
    /// Replaces the keys above for the controller, which provisions topics, if it connects with
    /// another identity than the members.
    #[schemars(default)]
    pub controller: OtherAccess,
}

/// How a client other than the members connects to brokers.
#[derive(Debug, Clone, Default, PartialEq, Eq, DeserializeDerive, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "the differences, as in {properties: {sasl.username: u}}")]
pub struct OtherAccess {
    /// Client properties.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
    /// Client properties whose values are stored elsewhere and never shown.
    #[serde(default)]
    pub secrets: BTreeMap<String, Elsewhere>,
}

/// Where a secret is stored; `None` if the file has something else there, which may be the secret
/// itself and must not be shown.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(transparent)]
pub struct Elsewhere(#[schemars(with = "Secret")] pub Option<Secret>);

impl<'de> Deserialize<'de> for Elsewhere {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Secret::deserialize(deserializer).ok()))
    }
}

/// All keys of a cluster; invalid combinations are reported by the check, which knows their
/// positions.
#[derive(DeserializeDerive)]
#[serde(deny_unknown_fields, expecting = "a cluster, as in {bootstrap: \"127.0.0.1:9092\"}")]
struct Described {
    embedded: Option<Embedded>,
    etcd: Option<String>,
    zookeeper: Option<String>,
    nats: Option<String>,
    tick: Option<Span>,
    sync_limit: Option<u32>,
    bootstrap: Option<String>,
    failover: Option<Span>,
    start_up: Option<Span>,
    #[serde(default)]
    properties: BTreeMap<String, String>,
    #[serde(default)]
    secrets: BTreeMap<String, Elsewhere>,
    #[serde(default)]
    controller: OtherAccess,
    /// Accepted only so that the check can report the mistake with a hint.
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
                let properties = said.properties;
                if let Some(etcd) = said.etcd {
                    return Ok(Cluster::Etcd(EtcdStore { etcd, properties }));
                }
                if let Some(nats) = said.nats {
                    return Ok(Cluster::Nats(NatsServers { nats, properties }));
                }
                if let Some(zookeeper) = said.zookeeper {
                    let (tick, sync_limit) = (said.tick, said.sync_limit);
                    let servers = ZooKeeperServers { zookeeper, tick, sync_limit, properties };
                    return Ok(Cluster::ZooKeeper(servers));
                }
                Ok(Cluster::Brokers(Brokers {
                    bootstrap: said
                        .bootstrap
                        .ok_or_else(|| A::Error::missing_field("bootstrap"))?,
                    failover: said.failover,
                    start_up: said.start_up,
                    properties,
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
    /// The consumer group; always disjoint.
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
