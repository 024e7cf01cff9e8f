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

use super::mark::headers;
use super::voice::Voice;
use super::{Cluster, KafkaError};
use tandem_facts::ids::{Life, PartitionId, TopicName};
use tandem_facts::time::{Mono, Wall};

/// Publishes beacons on one topic; delivery reports are served by a thread of its own, for one poll
/// a batch does not keep up with them.
pub struct Producer {
    inner: ThreadedProducer<Reports>,
    topic: TopicName,
    delivered: Arc<AtomicU64>,
}

struct Reports(Voice, Arc<AtomicU64>);

impl Producer {
    /// A producer whose messages are dropped when they could not be delivered for `stale`.
    ///
    /// # Errors
    /// The client's refusal of its configuration.
    pub fn new(
        cluster: &Cluster,
        client_id: &str,
        topic: &TopicName,
        stale: Duration,
    ) -> Result<Self, KafkaError> {
        let (config, veil) = cluster.producer(client_id, stale)?;
        let delivered: Arc<AtomicU64> = Arc::default();
        let context = Reports(Voice::new(veil), Arc::clone(&delivered));
        let inner =
            config.create_with_context(context).map_err(|source| cluster.refused(source))?;
        Ok(Self { inner, topic: topic.clone(), delivered })
    }

    /// Publishes one beacon, made at `stamp`, which a topic that goes by append time replaces; false
    /// where the queue is full, as it is when the cluster is away. A `mark` says who sends it, and
    /// when.
    #[must_use]
    pub fn publish(
        &self,
        partition: PartitionId,
        stamp: Wall,
        mark: Option<(&Life, Mono)>,
    ) -> bool {
        let Ok(number) = i32::try_from(partition.0) else { return false };
        let record = BaseRecord::<(), ()>::to(self.topic.as_str()).partition(number);
        let mut record = record.timestamp(stamp.0);
        record.headers = mark.map(|(life, sent)| headers(life, sent));
        self.inner.send(record).is_ok()
    }

    /// How many beacons were delivered.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// How often the client has complained, and of what last.
    #[must_use]
    pub fn complaints(&self) -> (u64, Option<String>) {
        self.inner.context().0.complaints()
    }

    /// Drops what is still queued, so that closing need not wait for it.
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
