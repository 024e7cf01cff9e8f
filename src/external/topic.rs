//! The facts topic: the same name on each cluster of a topology.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::ids::TopicName;
use crate::kafka::{Admin, Cluster, Found, KafkaError, TopicSettings};
use crate::time::Span;

/// How long the topic keeps facts. An observer that starts later knows nothing of the time before.
const RETENTION: Duration = Duration::from_secs(6 * 60 * 60);

/// The settings with which the topic is created.
#[must_use]
pub const fn topic_settings() -> TopicSettings {
    TopicSettings {
        width: NonZeroU32::MIN,
        replication: None,
        min_insync_replicas: None,
        retention: Span(RETENTION),
    }
}

/// Creates the topic if it is missing. One that is there is used as it is.
///
/// # Errors
/// The cluster does not answer, or refuses.
pub async fn ensure_topic(cluster: &Cluster, topic: &TopicName) -> Result<(), KafkaError> {
    let admin = Admin::new(cluster)?;
    admin.enter()?;
    if admin.topic(topic)? == Found::Absent {
        admin.create(topic, topic_settings()).await?;
    }
    Ok(())
}
