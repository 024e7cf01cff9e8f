//! A member's producer: empty messages, each to a named partition.

use std::error::Error as StdError;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rdkafka::client::OAuthToken;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError as Error;
use rdkafka::producer::{BaseRecord, DeliveryResult, Producer as _, ProducerContext};
use rdkafka::{ClientContext, Message};

use super::error_log::ErrorLog;
use super::mark::{Mark, Named, headers};
use super::polled::Polled;
use super::{Cluster, KafkaError};
use tandem_facts::ids::{PartitionId, TopicName};
use tandem_facts::time::{Mono, Wall};
use tandem_neli::Author;

/// Publishes beacons on one topic. A separate thread serves the delivery reports: one poll per
/// batch does not keep up with them.
pub struct Producer {
    inner: Polled<Reports>,
    topic: TopicName,
    named: Named,
    deliveries: Arc<Deliveries>,
}

/// What was delivered.
struct Deliveries {
    count: AtomicU64,
    /// When a beacon was last delivered to each partition, in nanoseconds of [`Mono`]; 0 if never.
    last: Box<[AtomicU64]>,
}

struct Reports(ErrorLog, Arc<Deliveries>);

impl Producer {
    /// A producer that drops messages which it could not deliver for `stale`.
    ///
    /// # Errors
    /// The client's refusal of its configuration.
    pub fn new(
        cluster: &Cluster,
        client_id: &str,
        (topic, width): (&TopicName, NonZeroU32),
        stale: Duration,
    ) -> Result<Self, KafkaError> {
        let (config, redaction) = cluster.producer(client_id, stale)?;
        let last = (0..width.get()).map(|_| AtomicU64::new(0)).collect();
        let deliveries = Arc::new(Deliveries { count: AtomicU64::new(0), last });
        let context = Reports(ErrorLog::new(redaction), Arc::clone(&deliveries));
        let inner = Polled::start(&config, context).map_err(|source| cluster.refused(source))?;
        Ok(Self { inner, topic: topic.clone(), named: Named::default(), deliveries })
    }

    /// The same, whose beacons name this.
    #[must_use]
    pub fn naming(self, named: Named) -> Self {
        Self { named, ..self }
    }

    /// Publishes one beacon with the timestamp `stamp`, which a topic with `LogAppendTime`
    /// replaces. Returns false if the queue is full, as it is while the cluster is unreachable.
    /// Its headers say what `author` and `mark` do.
    #[must_use]
    pub fn publish(
        &self,
        partition: PartitionId,
        stamp: Wall,
        (author, mark): (Author, Option<Mark<'_>>),
    ) -> bool {
        let Ok(number) = i32::try_from(partition.0) else { return false };
        let record = BaseRecord::<(), ()>::to(self.topic.as_str()).partition(number);
        let mut record = record.timestamp(stamp.0);
        record.headers = Some(headers(author, &self.named, mark));
        self.inner.send(record).is_ok()
    }

    /// The number of delivered beacons.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.deliveries.count.load(Ordering::Relaxed)
    }

    /// Whether all that was published has been delivered, or given up.
    #[must_use]
    pub fn has_delivered_all(&self) -> bool {
        self.inner.in_flight_count() == 0
    }

    /// When a beacon was last delivered to each partition to which one ever was.
    pub fn last_delivered(&self) -> impl Iterator<Item = (PartitionId, Mono)> + '_ {
        let last = self.deliveries.last.iter().map(|last| last.load(Ordering::Relaxed));
        (0..).map(PartitionId).zip(last.map(Mono)).filter(|(_, last)| *last > Mono::ZERO)
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
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.0.log(level, facility, message);
    }
    fn error(&self, error: Error, reason: &str) {
        self.0.error(error, reason);
    }
    fn generate_oauth_token(&self, config: Option<&str>) -> Result<OAuthToken, Box<dyn StdError>> {
        self.0.generate_oauth_token(config)
    }
}

impl ProducerContext for Reports {
    type DeliveryOpaque = ();
    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        match result {
            Ok(message) => {
                self.1.count.fetch_add(1, Ordering::Relaxed);
                let at = usize::try_from(message.partition()).ok();
                if let Some(last) = at.and_then(|at| self.1.last.get(at)) {
                    last.store(Mono::now().0, Ordering::Relaxed);
                }
            }
            Err((error, _)) => tracing::debug!(%error, "A beacon was not delivered."),
        }
    }
}
