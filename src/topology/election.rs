//! How leaders are elected: the word of a topology, and who is a party to it.

use std::borrow::Cow;
use std::sync::LazyLock;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::neli::elections::among::Among;

/// How leaders are elected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Election {
    /// By NELI, on Kafka.
    Neli,
    /// Over etcd.
    Etcd,
    /// Among the members alone, by one of these.
    Among(Among),
    /// Over ZooKeeper.
    ZooKeeper,
}

/// The election of groups on a cluster of NATS.
pub(super) const OVER_NATS: Among = Among::Allcall;

/// All of them, in the order of the schema.
fn all() -> impl Iterator<Item = Election> {
    let among = Among::ALL.iter().copied().map(Election::Among);
    [Election::Neli, Election::Etcd].into_iter().chain(among).chain([Election::ZooKeeper])
}

static WORDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| all().map(Election::word).collect());

impl Election {
    /// How a topology writes it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Neli => "neli",
            Self::Etcd => "etcd",
            Self::Among(among) => among.as_str(),
            Self::ZooKeeper => "zookeeper",
        }
    }

    /// What it elects over.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Neli => "Kafka",
            Self::Etcd => "etcd",
            Self::Among(_) => "its members",
            Self::ZooKeeper => "ZooKeeper",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Neli => "By the messages that members receive on their assigned partitions.",
            Self::Etcd => {
                "By keys of etcd, which a member creates if they are absent, bound to its lease."
            }
            Self::Among(among) => among.about(),
            Self::ZooKeeper => {
                "By ephemeral sequential nodes of ZooKeeper, of which the lowest leads."
            }
        }
    }

    /// The one among the members alone, if it is one.
    #[must_use]
    pub const fn among(self) -> Option<Among> {
        match self {
            Self::Among(among) => Some(among),
            Self::Neli | Self::Etcd | Self::ZooKeeper => None,
        }
    }
}

impl<'de> Deserialize<'de> for Election {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let found = all().find(|election| election.word() == text);
        found.ok_or_else(|| de::Error::unknown_variant(&text, WORDS.as_slice()))
    }
}

impl JsonSchema for Election {
    fn schema_name() -> Cow<'static, str> {
        "Election".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = |election: Election| {
            let (about, word) = (election.about(), election.word());
            json_schema!({"description": about, "type": "string", "const": word})
        };
        let all: Vec<Schema> = all().map(one).collect();
        json_schema!({"description": "How leaders are elected.", "oneOf": all})
    }
}

/// The members of a group that elect among themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Electorate {
    /// By which election.
    #[serde(serialize_with = "written", deserialize_with = "read")]
    #[schemars(with = "Election")]
    pub election: Among,
    /// How many they are.
    pub members: u32,
}

impl Electorate {
    /// The members of any group on a cluster of NATS, which does not know how many they are.
    pub(super) const OVER_NATS: Self = Self { election: OVER_NATS, members: u32::MAX };
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn written<S: Serializer>(election: &Among, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(election.as_str())
}

fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Among, D::Error> {
    let election = Election::deserialize(deserializer)?;
    election.among().ok_or_else(|| de::Error::custom("this election needs a cluster"))
}
