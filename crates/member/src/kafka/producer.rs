//! A member's producer: empty messages, each to a named partition.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError as Error;
use rdkafka::producer::{
    BaseRecord, DeliveryResult, Producer as _, ProducerContext, ThreadedProducer,
};

use super::error_log::ErrorLog;
use super::mark::Mark;
use super::{Cluster, KafkaError};
use tandem_facts::ids::{PartitionId, TopicName};
use tandem_facts::time::Wall;

/// Publishes beacons on one topic. A separate thread serves the delivery reports: one poll per
/// batch does not keep up with them.
pub struct Producer {
    inner: ThreadedProducer<Reports>,
    topic: TopicName,
    delivered: Arc<AtomicU64>,
}

struct Reports(ErrorLog, Arc<AtomicU64>);

impl Producer {
    /// A producer that drops messages which it could not deliver for `stale`.
    ///
    /// # Errors
    /// The client's refusal of its configuration.
    pub fn new(
        cluster: &Cluster,
        client_id: &str,
        topic: &TopicName,
        stale: Duration,
    ) -> Result<Self, KafkaError> {
        let (config, redaction) = cluster.producer(client_id, stale)?;
        let delivered: Arc<AtomicU64> = Arc::default();
        let context = Reports(ErrorLog::new(redaction), Arc::clone(&delivered));
        let inner =
            config.create_with_context(context).map_err(|source| cluster.refused(source))?;
        Ok(Self { inner, topic: topic.clone(), delivered })
    }

    /// Publishes one beacon with the timestamp `stamp`, which a topic with `LogAppendTime`
    /// replaces. Returns false if the queue is full, as it is while the cluster is unreachable.
    /// A `mark` is what its headers say.
    #[must_use]
    pub fn publish(&self, partition: PartitionId, stamp: Wall, mark: Option<Mark<'_>>) -> bool {
        let Ok(number) = i32::try_from(partition.0) else { return false };
        let record = BaseRecord::<(), ()>::to(self.topic.as_str()).partition(number);
        let mut record = record.timestamp(stamp.0);
        record.headers = mark.map(Mark::headers);
        self.inner.send(record).is_ok()
    }

    /// The number of delivered beacons.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// The number of errors that the client has reported, and the latest one.
    #[must_use]
    pub fn errors(&self) -> (u64, Option<String>) {
        self.inner.context().0.summary()
    }

    /// Drops what is still queued, so that closing does not wait for it.
    pub fn discard(&self) {
        self.inner.purge(rdkafka::producer::PurgeConfig::default().queue().inflight());
    }
}

impl ClientContext for Reports {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.0.log(level, facility, message);
    }
    fn error(&self, error: Error, reason: &str) {
        self.0.error(error, reason);
    }
}

impl ProducerContext for Reports {
    type DeliveryOpaque = ();
    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        match result {
            Ok(_) => drop(self.1.fetch_add(1, Ordering::Relaxed)),
            Err((error, _)) => tracing::debug!(%error, "A beacon was not delivered."),
        }
    }
}
