//! The requests with which provisioning inspects and changes a cluster.

use std::num::NonZeroU32;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError as Error, KafkaResult};
use rdkafka::metadata::MetadataTopic;
use rdkafka::types::{RDKafkaErrorCode, RDKafkaRespErr};

use super::error_log::ErrorLog;
use super::inspect::OFFSETS;
use super::{Cluster, KafkaError, Trouble};
use tandem_facts::ids::{ConsumerGroup, TopicName};
use tandem_facts::time::{Mono, Span};

/// How long a request to a cluster that accepts connections may take: `request.timeout.ms` of
/// Kafka's own clients. A busy broker may need more than ten seconds to delete a topic.
pub(super) const REQUEST: Duration = Duration::from_secs(30);
/// How long a cluster may take to accept a connection.
const ACCEPTED: Duration = Duration::from_secs(10);
/// How long all brokers may refuse connections. A starting broker needs a moment, and of a name
/// with several addresses only one may have a listener.
const REFUSED: Duration = Duration::from_secs(1);
/// When the client's errors are polled first, while it waits for an answer.
const GLANCE: Duration = Duration::from_millis(500);
/// How long a coordinator may load its ledger.
const LOADED: Duration = REQUEST;
/// How long a new topic may stay invisible.
const VISIBLE: Duration = REQUEST;

/// A connection for provisioning.
pub struct Admin {
    pub(super) cluster: Cluster,
    config: ClientConfig,
    errors: ErrorLog,
    /// None where the connections present a token: rdkafka's `AdminClient` neither asks librdkafka
    /// to be asked for one (`rd_kafka_conf_set_events`), nor polls the queue on which it would be.
    pub(super) admin: Option<AdminClient<ErrorLog>>,
    pub(super) reader: BaseConsumer<ErrorLog>,
}

/// The state of a topic on the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The topic does not exist.
    Absent,
    /// The topic has this many partitions.
    Width(u32),
}

/// The settings of a new topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicSettings {
    /// `|M|`.
    pub width: NonZeroU32,
    /// The replication factor; by default the cluster's own.
    pub replication: Option<u16>,
    /// `min.insync.replicas`; by default the cluster's own.
    pub min_insync_replicas: Option<u16>,
    /// How long the topic keeps a message.
    pub retention: Span,
}

impl Admin {
    /// Creates a client. It connects at the first request, which also shows whether the cluster
    /// answers.
    ///
    /// # Errors
    /// A secret cannot be read, or the client refuses its configuration.
    pub fn new(cluster: &Cluster) -> Result<Self, KafkaError> {
        let refused = |source| cluster.refused(source);
        let (config, errors) = cluster.asking()?;
        let has_admin = !cluster.access.is_bearer();
        let admin = has_admin.then(|| config.create_with_context(errors.clone()));
        let admin = admin.transpose().map_err(refused)?;
        let reader = config.create_with_context(errors.clone()).map_err(refused)?;
        cluster.introduce(&reader);
        Ok(Self { cluster: cluster.clone(), config, errors, admin, reader })
    }

    /// Waits until the cluster accepts a connection. Fails at once if waiting cannot help.
    ///
    /// # Errors
    /// The reason why the cluster does not.
    pub fn enter(&self) -> Result<(), KafkaError> {
        let (began, mut tried) = (Mono::now(), Duration::ZERO);
        // Each request waits as long as those before together: a slow broker answers one of them.
        let wait = |tried: Duration| tried.max(GLANCE).min(ACCEPTED.saturating_sub(tried));
        while self.reader.fetch_metadata(Some(OFFSETS), wait(tried)).is_err() {
            self.listen();
            tried = Mono::now().since(began);
            let lasting = self.errors.last_error().is_some_and(|it| it.is_lasting());
            if lasting || tried >= ACCEPTED {
                return Err(self.closed(ACCEPTED));
            }
            if self.errors.all_refuse() && tried >= REFUSED {
                return Err(self.closed(REFUSED));
            }
        }
        Ok(())
    }

    /// Polls the client for its errors. No other code polls it.
    pub(super) fn listen(&self) {
        while self.reader.poll(Duration::ZERO).is_some() {}
    }

    fn closed(&self, within: Duration) -> KafkaError {
        let turned_away = |reason| self.cluster.turned_away(reason);
        let source = Trouble::of(self.errors.last_error(), turned_away, &self.config, within);
        KafkaError::Closed { cluster: self.cluster.bootstrap.clone(), source }
    }

    pub(super) fn failed(&self, act: impl Into<String>) -> impl Fn(Error) -> KafkaError {
        self.cluster.failed(act)
    }

    /// Looks up a topic.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub fn topic(&self, topic: &TopicName) -> Result<Found, KafkaError> {
        let metadata = self
            .reader
            .fetch_metadata(Some(topic.as_str()), REQUEST)
            .map_err(self.failed(format!("describe topic {topic}")))?;
        let found = metadata.topics().iter().find(|found| found.name() == topic.as_str());
        let denied = RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
        if found.and_then(MetadataTopic::error) == Some(denied) {
            return Err(self.cluster.lacks("Describe", format!("topic {topic}")));
        }
        Ok(match found.map(|found| found.partitions().len()) {
            None | Some(0) => Found::Absent,
            Some(width) => Found::Width(u32::try_from(width).unwrap_or(u32::MAX)),
        })
    }

    /// Creates a topic and waits until every partition has a leader. Returns false if the topic
    /// exists already.
    ///
    /// # Errors
    /// The cluster does not answer, refuses, or does not show the topic in time.
    pub async fn create(
        &self,
        topic: &TopicName,
        settings: TopicSettings,
    ) -> Result<bool, KafkaError> {
        match self.ask_for(topic, settings, false).await? {
            None => self.await_topic(topic, settings.width).await.map(|()| true),
            Some(RDKafkaErrorCode::TopicAlreadyExists) => Ok(false),
            Some(code) => Err(self.refused("create", topic, code)),
        }
    }

    /// The reason why the cluster would not create a topic, if there is one. Creates nothing.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub(super) async fn would_create(
        &self,
        topic: &TopicName,
        settings: TopicSettings,
    ) -> Result<Option<String>, KafkaError> {
        if self.admin.is_none() {
            return Ok(Some(self.powerless("create", topic).to_string()));
        }
        let refusal = self.ask_for(topic, settings, true).await?;
        Ok(refusal.map(|code| {
            let refused = self.refused("create", topic, code);
            let denied = matches!(refused, KafkaError::Right { .. });
            if denied { refused.to_string() } else { code.to_string() }
        }))
    }

    async fn ask_for(
        &self,
        topic: &TopicName,
        settings: TopicSettings,
        only_ask: bool,
    ) -> Result<Option<RDKafkaErrorCode>, KafkaError> {
        let width = i32::try_from(settings.width.get()).unwrap_or(i32::MAX);
        let replication = settings.replication.map_or(-1, i32::from);
        let retention = settings.retention.get().as_millis().to_string();
        let insync = settings.min_insync_replicas.map(|least| least.to_string());
        let mut new = NewTopic::new(topic.as_str(), width, TopicReplication::Fixed(replication))
            .set("message.timestamp.type", "LogAppendTime")
            .set("retention.ms", &retention);
        if let Some(insync) = &insync {
            new = new.set("min.insync.replicas", insync);
        }
        let options = AdminOptions::new().request_timeout(Some(REQUEST)).validate_only(only_ask);
        let admin = self.admin.as_ref().ok_or_else(|| self.powerless("create", topic))?;
        let results = admin
            .create_topics([&new], &options)
            .await
            .map_err(self.failed(format!("create topic {topic}")))?;
        Ok(results.into_iter().find_map(Result::err).map(|(_, code)| code))
    }

    async fn await_topic(&self, topic: &TopicName, width: NonZeroU32) -> Result<(), KafkaError> {
        let began = Mono::now();
        while self.topic(topic)? != Found::Width(width.get()) {
            if Mono::now().since(began) > VISIBLE {
                let (cluster, topic) = (self.cluster.bootstrap.clone(), topic.clone());
                return Err(KafkaError::Unseen { cluster, topic, within: VISIBLE });
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Deletes a topic. A missing topic is no error.
    ///
    /// # Errors
    /// The cluster does not answer or refuses.
    pub async fn delete(&self, topic: &TopicName) -> Result<(), KafkaError> {
        let options = AdminOptions::new().request_timeout(Some(REQUEST));
        let Some(admin) = &self.admin else {
            // It may have been deleted with Kafka's tools, as the error advises.
            let is_gone = self.topic(topic)? == Found::Absent;
            return if is_gone { Ok(()) } else { Err(self.powerless("delete", topic)) };
        };
        let results = admin
            .delete_topics(&[topic.as_str()], &options)
            .await
            .map_err(self.failed(format!("delete topic {topic}")))?;
        match results.into_iter().find_map(Result::err) {
            None | Some((_, RDKafkaErrorCode::UnknownTopicOrPartition)) => Ok(()),
            Some((_, code)) => Err(self.refused("delete", topic, code)),
        }
    }

    fn powerless(&self, act: &'static str, topic: &TopicName) -> KafkaError {
        KafkaError::Powerless { cluster: self.cluster.bootstrap.clone(), act, topic: topic.clone() }
    }

    fn refused(&self, act: &'static str, topic: &TopicName, code: RDKafkaErrorCode) -> KafkaError {
        let denied = [
            RDKafkaErrorCode::TopicAuthorizationFailed,
            RDKafkaErrorCode::ClusterAuthorizationFailed,
        ];
        if denied.contains(&code) {
            let right = if act == "create" { "Create" } else { "Delete" };
            return self.cluster.lacks(right, format!("topic {topic}"));
        }
        let cluster = self.cluster.bootstrap.clone();
        KafkaError::Topic { cluster, act, topic: topic.clone(), code }
    }

    /// The members of a consumer group, with their client ids and assignments.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub fn members(&self, group: &ConsumerGroup) -> Result<Vec<GroupMember>, KafkaError> {
        let list = patiently(|| self.reader.fetch_group_list(Some(group.as_str()), REQUEST));
        let list = list.map_err(self.failed(format!("describe consumer group {group}")))?;
        let members = list.groups().iter().flat_map(rdkafka::groups::GroupInfo::members);
        Ok(members
            .map(|member| GroupMember {
                client_id: member.client_id().to_owned(),
                assignment: member.assignment().unwrap_or_default().to_owned(),
            })
            .collect())
    }
}

/// Repeats a request while the coordinator is not ready: after a start of the cluster or the loss
/// of a broker, the coordinator is still loading its ledger.
pub(super) fn patiently<T>(mut send: impl FnMut() -> KafkaResult<T>) -> KafkaResult<T> {
    let began = Mono::now();
    loop {
        let answer = send();
        let code = answer.as_ref().err().and_then(Error::rdkafka_error_code);
        let passing = matches!(
            code,
            Some(
                RDKafkaErrorCode::CoordinatorLoadInProgress
                    | RDKafkaErrorCode::CoordinatorNotAvailable
                    | RDKafkaErrorCode::NotCoordinator
            )
        );
        if !passing || Mono::now().since(began) > LOADED {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A member as the coordinator describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMember {
    /// The member's `client.id`.
    pub client_id: String,
    /// The member's assignment, in the encoding of the consumer protocol.
    pub assignment: Vec<u8>,
}
