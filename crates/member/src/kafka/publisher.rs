//! A producer whose records are acknowledged one by one: what is published was taken by all
//! replicas in sync, and once.

use std::error::Error as StdError;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rdkafka::client::OAuthToken;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError as Error;
use rdkafka::metadata::MetadataTopic;
use rdkafka::producer::{BaseRecord, DeliveryResult, Producer as _, ProducerContext};
use rdkafka::{ClientContext, Message as _, Timestamp};

use super::error_log::ErrorLog;
use super::polled::Polled;
use super::{Cluster, KafkaError};
use tandem_facts::ids::{PartitionId, TopicName};
use tandem_facts::time::Wall;

/// How long a record may take to be acknowledged. What takes longer is published anew.
const WITHIN: Duration = Duration::from_secs(3);
/// The client reports within [`WITHIN`]; one that hangs is not waited for.
const HANGS: Duration = Duration::from_secs(5);

/// How long a cluster may take to name the leader of a partition.
const LOOK_UP: Duration = Duration::from_secs(1);

/// A record that was acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The partition that has it.
    pub partition: PartitionId,
    /// What the broker's clock showed when it appended it; none if the topic does not say so.
    pub stamp: Option<Wall>,
}

/// Publishes records on one topic, one after the other.
pub struct Publisher {
    inner: Polled<Acks>,
    cluster: Cluster,
    topic: TopicName,
    acks: Mutex<Receiver<Result<Appended, Error>>>,
}

struct Acks(ErrorLog, SyncSender<Result<Appended, Error>>);

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
    pub fn publish(&self, key: &str, value: &[u8]) -> Result<Appended, KafkaError> {
        self.append(BaseRecord::to(self.topic.as_str()).key(key).payload(value))
    }

    /// Publishes a record without a value, which readers of the topic leave out.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub fn publish_nothing(&self, key: &str) -> Result<Appended, KafkaError> {
        self.append(BaseRecord::to(self.topic.as_str()).key(key))
    }

    fn append(&self, record: BaseRecord<'_, str, [u8]>) -> Result<Appended, KafkaError> {
        let acks = self.acks.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = self.cluster.failed(format!("publish on topic {}", self.topic));
        self.inner.send(record).map_err(|(error, _)| failed(error))?;
        acks.recv_timeout(HANGS).unwrap_or(Err(Error::Canceled)).map_err(failed)
    }

    /// The node id of the broker that leads a partition, as the cluster says now. Blocks for at
    /// most a second.
    #[must_use]
    pub fn leader(&self, of: PartitionId) -> Option<i32> {
        let client = self.inner.client();
        let metadata = client.fetch_metadata(Some(self.topic.as_str()), LOOK_UP).ok()?;
        let mut partitions = metadata.topics().iter().flat_map(MetadataTopic::partitions);
        let led = partitions.find(|one| u32::try_from(one.id()) == Ok(of.0))?;
        (led.leader() >= 0).then(|| led.leader())
    }
}

impl ClientContext for Acks {
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

impl ProducerContext for Acks {
    type DeliveryOpaque = ();
    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let appended = |message: &rdkafka::message::BorrowedMessage<'_>| Appended {
            partition: PartitionId(u32::try_from(message.partition()).unwrap_or(0)),
            stamp: match message.timestamp() {
                Timestamp::LogAppendTime(ms) => Some(Wall(ms)),
                Timestamp::CreateTime(_) | Timestamp::NotAvailable => None,
            },
        };
        let result = result.as_ref().map(appended).map_err(|(error, _)| error.clone());
        // If the channel is full, the caller has given up on an earlier record.
        self.1.try_send(result).ok();
    }
}
