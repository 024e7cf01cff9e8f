//! A producer whose records are acknowledged one by one: what is published was taken by all
//! replicas in sync, and once.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError as Error;
use rdkafka::producer::{BaseRecord, DeliveryResult, ProducerContext};

use super::error_log::ErrorLog;
use super::polled::Polled;
use super::{Cluster, KafkaError};
use tandem_facts::ids::TopicName;

/// How long a record may take to be acknowledged. What takes longer is published anew.
const WITHIN: Duration = Duration::from_secs(3);
/// The client reports within [`WITHIN`]; one that hangs is not waited for.
const HANGS: Duration = Duration::from_secs(5);

/// Publishes records on one topic, one after the other.
pub struct Publisher {
    inner: Polled<Acks>,
    cluster: Cluster,
    topic: TopicName,
    acks: Mutex<Receiver<Result<(), Error>>>,
}

struct Acks(ErrorLog, SyncSender<Result<(), Error>>);

impl Publisher {
    /// An idempotent producer: a record that it repeats by itself is appended once.
    ///
    /// # Errors
    /// The client's refusal of its configuration.
    pub fn new(cluster: &Cluster, client_id: &str, topic: &TopicName) -> Result<Self, KafkaError> {
        let (mut config, redaction) = cluster.producer(client_id, WITHIN)?;
        // The caller reports what could not be published.
        config.set_log_level(RDKafkaLogLevel::Critical);
        config.set("enable.idempotence", "true").set("acks", "all");
        config.set("compression.type", "lz4");
        config.set("message.timeout.ms", WITHIN.as_millis().to_string());
        let (sender, acks) = sync_channel(1);
        let context = Acks(ErrorLog::quiet(redaction), sender);
        let inner = Polled::start(&config, context).map_err(|error| cluster.refused(error))?;
        let (cluster, topic) = (cluster.clone(), topic.clone());
        Ok(Self { inner, cluster, topic, acks: Mutex::new(acks) })
    }

    /// Publishes a record, and waits until it is acknowledged. Blocks for at most 5 s.
    ///
    /// # Errors
    /// It was not acknowledged; it may have been appended all the same.
    pub fn publish(&self, key: &str, value: &[u8]) -> Result<(), KafkaError> {
        let acks = self.acks.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = self.cluster.failed(format!("publish on topic {}", self.topic));
        let record = BaseRecord::<str, [u8]>::to(self.topic.as_str()).key(key).payload(value);
        self.inner.send(record).map_err(|(error, _)| failed(error))?;
        acks.recv_timeout(HANGS).unwrap_or(Err(Error::Canceled)).map_err(failed)
    }
}

impl ClientContext for Acks {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.0.log(level, facility, message);
    }
    fn error(&self, error: Error, reason: &str) {
        self.0.error(error, reason);
    }
}

impl ProducerContext for Acks {
    type DeliveryOpaque = ();
    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let result = result.as_ref().map(|_| ()).map_err(|(error, _)| error.clone());
        // If the channel is full, the caller has given up on an earlier record.
        self.1.try_send(result).ok();
    }
}
