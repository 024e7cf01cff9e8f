//! Whether a member may do what it will do, asked as that member before any is started.
//!
//! Kafka looks at rights first and at the rest of a request afterwards: a request that asks for
//! something that is not there shows whether it would have been allowed, and changes nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::error::{KafkaError as Error, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, DeliveryResult, ProducerContext};
use rdkafka::{ClientContext, Offset, TopicPartitionList};

use super::admin::REQUEST;
use super::voice::Voice;
use super::{Admin, Cluster, KafkaError};
use tandem_facts::ids::{ConsumerGroup, TopicName};
use tandem_facts::time::Mono;

impl Cluster {
    /// Whether a member may be in `group` and read `topic`, whether or not they are there yet.
    ///
    /// # Errors
    /// The cluster cannot be entered, or a right is missing.
    pub fn admits(&self, group: &ConsumerGroup, topic: &TopicName) -> Result<(), KafkaError> {
        Admin::new(self)?.enter()?;
        let (mut config, voice) = self.asking()?;
        // A commit waits for so long for a coordinator that it may not ask for.
        config.set("group.id", group.as_str()).set("session.timeout.ms", "1000");
        let asker: BaseConsumer<Voice> =
            config.create_with_context(voice).map_err(|source| self.refused(source))?;
        let mut offsets = TopicPartitionList::new();
        // No topic has that many partitions, so nothing is committed.
        let added = offsets.add_partition_offset(topic.as_str(), i32::MAX, Offset::Offset(0));
        added.map_err(|source| self.refused(source))?;
        let codes = commit(&asker, &offsets);
        let denied = |code| codes.contains(&code);
        if denied(RDKafkaErrorCode::GroupAuthorizationFailed) {
            return Err(self.lacks("Read", format!("consumer group {group}")));
        }
        if denied(RDKafkaErrorCode::TopicAuthorizationFailed) {
            return Err(self.lacks("Read", format!("topic {topic}")));
        }
        Ok(())
    }

    /// Whether a member may publish on `topic`, which is there: one beacon more does no harm.
    ///
    /// # Errors
    /// A right is missing, or the cluster does not answer.
    pub fn lets_publish(&self, topic: &TopicName) -> Result<(), KafkaError> {
        let (mut config, voice) = self.asking()?;
        config.set("message.timeout.ms", REQUEST.as_millis().to_string());
        let context = Delivery { voice, told: Arc::default() };
        let told = Arc::clone(&context.told);
        let producer: BaseProducer<Delivery> =
            config.create_with_context(context).map_err(|source| self.refused(source))?;
        let failed = |source| KafkaError::Request {
            cluster: self.bootstrap.clone(),
            act: format!("take a message on topic {topic}"),
            source: Box::new(source),
        };
        let record = BaseRecord::<(), ()>::to(topic.as_str()).partition(0);
        producer.send(record).map_err(|(source, _)| failed(source))?;
        let began = Mono::now();
        loop {
            producer.poll(Duration::from_millis(20));
            let answer = told.lock().unwrap_or_else(PoisonError::into_inner).take();
            match answer {
                Some(Ok(())) => return Ok(()),
                Some(Err(source)) => {
                    let code = source.rdkafka_error_code();
                    return Err(match code {
                        Some(RDKafkaErrorCode::TopicAuthorizationFailed) => {
                            self.lacks("Write", format!("topic {topic}"))
                        }
                        Some(_) | None => failed(source),
                    });
                }
                None if Mono::now().since(began) > REQUEST + REQUEST => {
                    return Err(failed(Error::Canceled));
                }
                None => {}
            }
        }
    }

    pub(super) fn lacks(&self, right: &'static str, resource: String) -> KafkaError {
        let (cluster, user) = (self.bootstrap.clone(), self.user());
        KafkaError::Right { cluster, user, right, resource }
    }
}

/// Commits, and listens meanwhile: what the search for the coordinator meets comes as an error of
/// the consumer, and the commit itself only runs out of time.
fn commit(asker: &BaseConsumer<Voice>, offsets: &TopicPartitionList) -> Vec<RDKafkaErrorCode> {
    std::thread::scope(|scope| {
        let commit = scope.spawn(|| asker.commit(offsets, CommitMode::Sync));
        let mut codes = Vec::new();
        while !commit.is_finished() {
            if let Some(Err(error)) = asker.poll(Duration::from_millis(5)) {
                codes.extend(error.rdkafka_error_code());
            }
        }
        let done = commit.join().unwrap_or(Ok(()));
        codes.extend(done.err().and_then(|error| error.rdkafka_error_code()));
        codes
    })
}

struct Delivery {
    voice: Voice,
    told: Arc<Mutex<Option<Result<(), Error>>>>,
}

impl ClientContext for Delivery {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.voice.log(level, facility, message);
    }
    fn error(&self, error: Error, reason: &str) {
        self.voice.error(error, reason);
    }
}

impl ProducerContext for Delivery {
    type DeliveryOpaque = ();
    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let result = result.as_ref().map(|_| ()).map_err(|(error, _)| error.clone());
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }
}
