//! Checks a member's rights with the member's own credentials, before any member starts.
//!
//! Kafka checks rights before the rest of a request. A request for something that does not exist
//! shows whether it would have been allowed, and changes nothing.

use std::error::Error as StdError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::client::OAuthToken;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::error::{KafkaError as Error, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, DeliveryResult, ProducerContext};
use rdkafka::{ClientContext, Offset, TopicPartitionList};

use super::admin::REQUEST;
use super::error_log::ErrorLog;
use super::{Admin, Cluster, KafkaError};
use tandem_facts::ids::{ConsumerGroup, TopicName};
use tandem_facts::time::Mono;

impl Cluster {
    /// Checks that a member may join `group` and read `topic`, whether or not these exist yet.
    ///
    /// # Errors
    /// The cluster does not accept a connection, or a right is missing.
    pub fn admits(&self, group: &ConsumerGroup, topic: &TopicName) -> Result<(), KafkaError> {
        Admin::new(self)?.enter()?;
        let (mut config, errors) = self.asking()?;
        // A commit waits this long for a coordinator for which it lacks the right.
        config.set("group.id", group.as_str()).set("session.timeout.ms", "1000");
        let asker: BaseConsumer<ErrorLog> =
            config.create_with_context(errors).map_err(|source| self.refused(source))?;
        let mut offsets = TopicPartitionList::new();
        // No topic has this many partitions, so the request commits nothing.
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

    /// Checks that a member may publish on the existing `topic`. One additional beacon does no
    /// harm.
    ///
    /// # Errors
    /// A right is missing, or the cluster does not answer.
    pub fn lets_publish(&self, topic: &TopicName) -> Result<(), KafkaError> {
        let (mut config, errors) = self.asking()?;
        config.set("message.timeout.ms", REQUEST.as_millis().to_string());
        let context = Delivery { errors, report: Arc::default() };
        let report = Arc::clone(&context.report);
        let producer: BaseProducer<Delivery> =
            config.create_with_context(context).map_err(|source| self.refused(source))?;
        let failed = self.failed(format!("take a message on topic {topic}"));
        let record = BaseRecord::<(), ()>::to(topic.as_str()).partition(0);
        producer.send(record).map_err(|(source, _)| failed(source))?;
        let began = Mono::now();
        loop {
            producer.poll(Duration::from_millis(20));
            let answer = report.lock().unwrap_or_else(PoisonError::into_inner).take();
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

/// Commits, and polls meanwhile: the errors of the search for the coordinator arrive at the
/// consumer, and the commit itself only times out.
fn commit(asker: &BaseConsumer<ErrorLog>, offsets: &TopicPartitionList) -> Vec<RDKafkaErrorCode> {
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
    errors: ErrorLog,
    report: Arc<Mutex<Option<Result<(), Error>>>>,
}

impl ClientContext for Delivery {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.errors.log(level, facility, message);
    }
    fn error(&self, error: Error, reason: &str) {
        self.errors.error(error, reason);
    }
    fn generate_oauth_token(&self, config: Option<&str>) -> Result<OAuthToken, Box<dyn StdError>> {
        self.errors.generate_oauth_token(config)
    }
}

impl ProducerContext for Delivery {
    type DeliveryOpaque = ();
    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let result = result.as_ref().map(|_| ()).map_err(|(error, _)| error.clone());
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }
}
