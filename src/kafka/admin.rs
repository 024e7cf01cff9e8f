//! What provisioning asks of a cluster.

use std::num::NonZeroU32;
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _, DefaultConsumerContext};
use rdkafka::error::KafkaError as Error;
use rdkafka::types::RDKafkaErrorCode;

use super::{Cluster, KafkaError, log};
use crate::ids::{ConsumerGroup, TopicName};
use crate::time::{Mono, Span};

/// For how long one request may take.
pub(super) const REQUEST: Duration = Duration::from_secs(10);
/// For how long a coordinator may read its ledger.
const LOADED: Duration = Duration::from_secs(10);
/// For how long a new topic may stay invisible.
const VISIBLE: Duration = Duration::from_secs(10);

/// A connection for provisioning.
pub struct Admin {
    cluster: String,
    pub(super) admin: AdminClient<Quiet>,
    pub(super) reader: BaseConsumer<DefaultConsumerContext>,
}

pub(super) struct Quiet;

/// What is there of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Absent,
    /// A topic of so many partitions.
    Width(u32),
}

/// How a topic is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicSettings {
    /// `|M|`.
    pub width: NonZeroU32,
    /// Copies; the cluster's own default where nothing is said.
    pub replication: Option<u16>,
    /// For how long a message is kept.
    pub retention: Span,
}

impl Admin {
    /// Connects lazily: the first request tells whether somebody is there.
    ///
    /// # Errors
    /// The client's refusal of its configuration.
    pub fn new(cluster: &Cluster) -> Result<Self, KafkaError> {
        let name = cluster.bootstrap.clone();
        let refused =
            |source| KafkaError::Configuration { cluster: name.clone(), source: Box::new(source) };
        let config = cluster.base("tandem-controller");
        let admin = config.create_with_context(Quiet).map_err(refused)?;
        let reader = config.create().map_err(refused)?;
        Ok(Self { cluster: name, admin, reader })
    }

    pub(super) fn failed(&self, act: impl Into<String>) -> impl FnOnce(Error) -> KafkaError + '_ {
        let act = act.into();
        move |source| KafkaError::Request {
            cluster: self.cluster.clone(),
            act,
            source: Box::new(source),
        }
    }

    /// Looks for a topic.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub fn topic(&self, topic: &TopicName) -> Result<Found, KafkaError> {
        let metadata = self
            .reader
            .fetch_metadata(Some(topic.as_str()), REQUEST)
            .map_err(self.failed(format!("describe topic {topic}")))?;
        let found = metadata.topics().iter().find(|found| found.name() == topic.as_str());
        Ok(match found.map(|found| found.partitions().len()) {
            None | Some(0) => Found::Absent,
            Some(width) => Found::Width(u32::try_from(width).unwrap_or(u32::MAX)),
        })
    }

    /// Makes a topic and waits until every partition has a leader. False where somebody else made
    /// it meanwhile.
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

    /// Why a topic would not be made, if so; makes none.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub(super) async fn would_create(
        &self,
        topic: &TopicName,
        settings: TopicSettings,
    ) -> Result<Option<String>, KafkaError> {
        Ok(self.ask_for(topic, settings, true).await?.map(|code| code.to_string()))
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
        let new = NewTopic::new(topic.as_str(), width, TopicReplication::Fixed(replication))
            .set("message.timestamp.type", "LogAppendTime")
            .set("retention.ms", &retention);
        let options = AdminOptions::new().request_timeout(Some(REQUEST)).validate_only(only_ask);
        let results = self
            .admin
            .create_topics([&new], &options)
            .await
            .map_err(self.failed(format!("create topic {topic}")))?;
        Ok(results.into_iter().find_map(Result::err).map(|(_, code)| code))
    }

    async fn await_topic(&self, topic: &TopicName, width: NonZeroU32) -> Result<(), KafkaError> {
        let began = Mono::now();
        while self.topic(topic)? != Found::Width(width.get()) {
            if Mono::now().since(began) > VISIBLE {
                let (cluster, topic) = (self.cluster.clone(), topic.clone());
                return Err(KafkaError::Unseen { cluster, topic, within: VISIBLE });
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Removes a topic; one that is not there is no error.
    ///
    /// # Errors
    /// The cluster does not answer or refuses.
    pub async fn delete(&self, topic: &TopicName) -> Result<(), KafkaError> {
        let options = AdminOptions::new().request_timeout(Some(REQUEST));
        let results = self
            .admin
            .delete_topics(&[topic.as_str()], &options)
            .await
            .map_err(self.failed(format!("delete topic {topic}")))?;
        match results.into_iter().find_map(Result::err) {
            None | Some((_, RDKafkaErrorCode::UnknownTopicOrPartition)) => Ok(()),
            Some((_, code)) => Err(self.refused("delete", topic, code)),
        }
    }

    fn refused(&self, act: &'static str, topic: &TopicName, code: RDKafkaErrorCode) -> KafkaError {
        KafkaError::Topic { cluster: self.cluster.clone(), act, topic: topic.clone(), code }
    }

    /// The client ids of a consumer group's members, with how many bytes of assignment each has.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub fn members(&self, group: &ConsumerGroup) -> Result<Vec<GroupMember>, KafkaError> {
        let began = Mono::now();
        let list = loop {
            match self.reader.fetch_group_list(Some(group.as_str()), REQUEST) {
                // A cluster that has just started, or lost a broker, is still reading its ledger.
                Err(Error::GroupListFetch(code))
                    if passing(code) && Mono::now().since(began) < LOADED =>
                {
                    std::thread::sleep(Duration::from_millis(50));
                }
                list => break list,
            }
        };
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

/// Whether a coordinator says this only until it is ready.
fn passing(code: RDKafkaErrorCode) -> bool {
    matches!(
        code,
        RDKafkaErrorCode::CoordinatorLoadInProgress
            | RDKafkaErrorCode::CoordinatorNotAvailable
            | RDKafkaErrorCode::NotCoordinator
    )
}

/// A member as the coordinator describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMember {
    /// Its `client.id`.
    pub client_id: String,
    /// Its assignment, in the consumer protocol's encoding.
    pub assignment: Vec<u8>,
}

impl ClientContext for Quiet {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        log::line(level, facility, message);
    }
    fn error(&self, error: Error, reason: &str) {
        log::error(&error, reason);
    }
}
