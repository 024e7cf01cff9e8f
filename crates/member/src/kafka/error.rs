//! What can go wrong between us and a cluster, in words that name the cluster and the act.

use std::time::Duration;

use super::Trouble;
use tandem_facts::ids::TopicName;
use tandem_host::secret::SecretError;

/// An act on a cluster that failed.
#[derive(Debug, thiserror::Error)]
pub enum KafkaError {
    /// The client refused its configuration.
    #[error("the Kafka client refuses its configuration for {cluster}")]
    Configuration {
        /// The cluster's address.
        cluster: String,
        /// What the client says.
        #[source]
        source: Box<rdkafka::error::KafkaError>,
    },
    /// A secret is not where the topology says.
    #[error("secret `{key}` of {cluster} cannot be had")]
    Secret {
        /// The cluster's address.
        cluster: String,
        /// The client property whose value it is.
        key: String,
        /// Why not.
        #[source]
        source: SecretError,
    },
    /// The cluster wants what this build does not have.
    #[error(
        "{cluster} is to be spoken to with `{what}`, and this build lacks the feature `tls`: build \
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
        "{cluster} is to be used with `{what}`, which `membership: own` does not know: use \
         `membership: librdkafka`"
    )]
    OwnMembership {
        /// The cluster's address.
        cluster: String,
        /// The setting and its value.
        what: String,
    },
    /// The cluster lets nobody in, or not us.
    #[error("{cluster} cannot be entered")]
    Closed {
        /// The cluster's address.
        cluster: String,
        /// Why not.
        #[source]
        source: Trouble,
    },
    /// A right is missing.
    #[error(
        "{user} lacks the right {right} on {resource} of {cluster}: grant it there, as \
         `kafka-acls --add --operation {right}` does"
    )]
    Right {
        /// The cluster's address.
        cluster: String,
        /// Who.
        user: String,
        /// Kafka's name of the operation.
        right: &'static str,
        /// On what, as in `topic t`.
        resource: String,
    },
    /// The cluster did not answer, or not well; it may be tried again.
    #[error("{cluster} did not {act}")]
    Request {
        /// The cluster's address.
        cluster: String,
        /// What was asked of it, as a verb.
        act: String,
        /// What the client says.
        #[source]
        source: Box<rdkafka::error::KafkaError>,
    },
    /// The cluster refused one topic.
    #[error("{cluster} refused to {act} topic {topic}: {code}")]
    Topic {
        /// The cluster's address.
        cluster: String,
        /// What was asked of it, as a verb.
        act: &'static str,
        /// The topic.
        topic: TopicName,
        /// Kafka's error.
        code: rdkafka::types::RDKafkaErrorCode,
    },
    /// A topic was made, and did not show in time; it may be tried again.
    #[error("topic {topic} was created on {cluster}, yet is not to be seen after {within:?}")]
    Unseen {
        /// The cluster's address.
        cluster: String,
        /// The topic.
        topic: TopicName,
        /// For how long it was looked for.
        within: Duration,
    },
}

impl KafkaError {
    /// Whether the same act may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Request { .. } | Self::Unseen { .. } => true,
            Self::Configuration { .. }
            | Self::Topic { .. }
            | Self::Secret { .. }
            | Self::Lean { .. }
            | Self::OwnMembership { .. }
            | Self::Right { .. } => false,
            Self::Closed { source, .. } => source.is_transient(),
        }
    }
}
