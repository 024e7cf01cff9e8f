//! Who speaks for a member in its group: the client or Tandem itself.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What speaks for a member in its consumer group: finds the coordinator, joins, shares out, sends
/// heartbeats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MembershipClient {
    /// The Kafka client, librdkafka.
    #[serde(rename = "librdkafka")]
    Library,
    /// Tandem itself, over connections of its own; librdkafka only reads and writes messages.
    #[default]
    Own,
}

impl MembershipClient {
    const ALL: [Self; 2] = [Self::Library, Self::Own];

    /// The word for it in a topology.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Library => "librdkafka",
            Self::Own => "own",
        }
    }
}

impl fmt::Display for MembershipClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for MembershipClient {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|client| client.as_str() == text);
        found.ok_or_else(|| format!("`{text}` is neither `librdkafka` nor `own`"))
    }
}

/// Kafka's group protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GroupProtocol {
    /// The one with JoinGroup and SyncGroup: members share out the partitions.
    #[default]
    Classic,
    /// The newer one (KIP-848): the brokers share them out. Needs Kafka 4.
    Consumer,
}

impl GroupProtocol {
    const ALL: [Self; 2] = [Self::Classic, Self::Consumer];

    /// The word for it in a topology.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Consumer => "consumer",
        }
    }

    /// Whether it is the classic one. Serde wants a reference.
    #[must_use]
    pub fn is_classic(&self) -> bool {
        *self == Self::Classic
    }
}

impl fmt::Display for GroupProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for GroupProtocol {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|protocol| protocol.as_str() == text);
        found.ok_or_else(|| format!("`{text}` is neither `classic` nor `consumer`"))
    }
}
