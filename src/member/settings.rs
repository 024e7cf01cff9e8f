//! Everything that a member is told at start, as arguments of `tandem member`.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::ids::{ConsumerGroup, Life, TopicName};
use crate::kafka::Cluster;
use crate::time::Span;
use crate::topology::PlannedGroup;

/// What one life of one member needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Who it is, and which of its lives this is.
    pub life: Life,
    /// Its cluster.
    pub cluster: Cluster,
    /// The ledger.
    pub topic: TopicName,
    /// The ledger's width, `|M|`.
    pub width: NonZeroU32,
    /// `group.id`.
    pub consumer_group: ConsumerGroup,
    /// `S`.
    pub session: Duration,
    /// `h`.
    pub heartbeat: Duration,
    /// The longest wait in one poll.
    pub wake: Duration,
    /// `tau`.
    pub beacon: Duration,
    /// `T`.
    pub threshold: Duration,
    /// `partition.assignment.strategy`.
    pub assignor: String,
}

impl Settings {
    /// What the plan decides for one life, on this cluster.
    #[must_use]
    pub fn of(life: Life, group: &PlannedGroup, cluster: &Cluster) -> Self {
        Self {
            life,
            cluster: cluster.clone(),
            topic: group.topic.clone(),
            width: group.partitions,
            consumer_group: group.consumer_group.clone(),
            session: group.pace.session.get(),
            heartbeat: group.pace.heartbeat.get(),
            wake: group.pace.wake.get(),
            beacon: group.pace.beacon.get(),
            threshold: group.pace.threshold.get(),
            assignor: group.pace.assignor.as_str().to_owned(),
        }
    }

    /// The arguments of `tandem` that make this very member.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec!["member".to_owned(), self.life.to_string()];
        let mut option = |name: &str, value: String| {
            arguments.push(format!("--{name}"));
            arguments.push(value);
        };
        option("bootstrap", self.cluster.bootstrap.clone());
        option("topic", self.topic.to_string());
        option("partitions", self.width.to_string());
        option("consumer-group", self.consumer_group.to_string());
        option("session", Span(self.session).to_string());
        option("heartbeat", Span(self.heartbeat).to_string());
        option("wake", Span(self.wake).to_string());
        option("beacon", Span(self.beacon).to_string());
        option("threshold", Span(self.threshold).to_string());
        option("assignor", self.assignor.clone());
        for (key, value) in &self.cluster.access.properties {
            option("property", format!("{key}={value}"));
        }
        // Only where it stands: a command line can be read by everybody.
        for (key, secret) in &self.cluster.access.secrets {
            option("secret", format!("{key}={secret}"));
        }
        arguments
    }
}
