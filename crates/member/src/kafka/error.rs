//! The errors of a cluster's client, in messages that name the cluster and the operation.

use std::time::Duration;

use super::Trouble;
use tandem_facts::ids::{ConsumerGroup, TopicName};
use tandem_host::secret::SecretError;

/// A failed operation on a cluster.
#[derive(Debug, thiserror::Error)]
pub enum KafkaError {
    /// The client refused its configuration.
    #[error("the Kafka client refuses its configuration for {cluster}")]
    Configuration {
        /// The cluster's address.
        cluster: String,
        /// The client's error.
        #[source]
        source: Box<rdkafka::error::KafkaError>,
    },
    /// A secret is not where the topology says.
    #[error("cannot read secret `{key}` of {cluster}")]
    Secret {
        /// The cluster's address.
        cluster: String,
        /// The client property whose value is secret.
        key: String,
        /// The cause.
        #[source]
        source: SecretError,
    },
    /// The topology requires a property that this build does not support.
    #[error(
        "{cluster} requires `{what}`, and this build lacks the feature `tls`: build \
         it with `cargo build --release --features tls` (takes pkg-config and libssl-dev) \
         or `--features tls-vendored`"
    )]
    Lean {
        /// The cluster's address.
        cluster: String,
        /// The property and its value.
        what: String,
    },
    /// Group membership of our own does not go with this.
    #[error(
        "{cluster} is to be used with `{what}`, which `membership: own` does not support: it \
         supports {possible}"
    )]
    OwnMembership {
        /// The cluster's address.
        cluster: String,
        /// The setting and its value.
        what: String,
        /// What goes with it instead.
        possible: &'static str,
    },
    /// The cluster does not accept connections, or not ours.
    #[error("cannot connect to {cluster}")]
    Closed {
        /// The cluster's address.
        cluster: String,
        /// The cause.
        #[source]
        source: Trouble,
    },
    /// The user lacks a right.
    #[error(
        "{user} lacks the right {right} on {resource} of {cluster}: grant it there, as \
         `kafka-acls --add --operation {right}` does"
    )]
    Right {
        /// The cluster's address.
        cluster: String,
        /// The user.
        user: String,
        /// Kafka's name of the operation.
        right: &'static str,
        /// The resource, as in `topic t`.
        resource: String,
    },
    /// The cluster did not answer, or answered with an error; another attempt may succeed.
    #[error("{cluster} did not {act}")]
    Request {
        /// The cluster's address.
        cluster: String,
        /// The operation, as a verb.
        act: String,
        /// The client's error.
        #[source]
        source: Box<rdkafka::error::KafkaError>,
    },
    /// The settings of a consumer group could not be set.
    #[error("{cluster} does not set the settings of consumer group {group}: {why}")]
    GroupSettings {
        /// The cluster's address.
        cluster: String,
        /// The group.
        group: ConsumerGroup,
        /// What the broker says.
        why: String,
    },
    /// The cluster refused one topic.
    #[error("{cluster} refused to {act} topic {topic}: {code}")]
    Topic {
        /// The cluster's address.
        cluster: String,
        /// The operation, as a verb.
        act: &'static str,
        /// The topic.
        topic: TopicName,
        /// Kafka's error.
        code: rdkafka::types::RDKafkaErrorCode,
    },
    /// A topic cannot be created or deleted by a client that presents a token.
    #[error(
        "Tandem cannot {act} topic {topic} on {cluster} with OAUTHBEARER: the client that would do \
         it never presents a token; {act} it with Kafka's own tools, or give the cluster's \
         `controller` another `sasl.mechanism`"
    )]
    Powerless {
        /// The cluster's address.
        cluster: String,
        /// The operation, as a verb.
        act: &'static str,
        /// The topic.
        topic: TopicName,
    },
    /// A topic was created, but did not become visible in time; another attempt may succeed.
    #[error("topic {topic} was created on {cluster}, but is not visible after {within:?}")]
    Unseen {
        /// The cluster's address.
        cluster: String,
        /// The topic.
        topic: TopicName,
        /// How long we looked for it.
        within: Duration,
    },
}

impl KafkaError {
    /// Whether the same operation may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Request { .. } | Self::Unseen { .. } => true,
            Self::Configuration { .. }
            | Self::Topic { .. }
            | Self::GroupSettings { .. }
            | Self::Secret { .. }
            | Self::Lean { .. }
            | Self::Powerless { .. }
            | Self::OwnMembership { .. }
            | Self::Right { .. } => false,
            Self::Closed { source, .. } => source.is_transient(),
        }
    }
}
