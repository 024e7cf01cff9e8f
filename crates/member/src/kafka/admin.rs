//! What provisioning asks of a cluster.

use std::num::NonZeroU32;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError as Error, KafkaResult};
use rdkafka::metadata::MetadataTopic;
use rdkafka::types::{RDKafkaErrorCode, RDKafkaRespErr};

use super::inspect::OFFSETS;
use super::voice::Voice;
use super::{Cluster, KafkaError, Trouble};
use tandem_facts::ids::{ConsumerGroup, TopicName};
use tandem_facts::time::{Mono, Span};

/// For how long one request may take.
pub(super) const REQUEST: Duration = Duration::from_secs(10);
/// For how long all brokers may refuse connections: one that starts needs a moment, and of a name
/// with several addresses only one may be listened on.
const REFUSED: Duration = Duration::from_secs(1);
/// How soon what the client complains of is heard.
const GLANCE: Duration = Duration::from_millis(500);
/// For how long a coordinator may read its ledger.
const LOADED: Duration = Duration::from_secs(10);
/// For how long a new topic may stay invisible.
const VISIBLE: Duration = Duration::from_secs(10);

/// A connection for provisioning.
pub struct Admin {
    pub(super) cluster: Cluster,
    config: ClientConfig,
    voice: Voice,
    pub(super) admin: AdminClient<Voice>,
    pub(super) reader: BaseConsumer<Voice>,
}

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
    /// `min.insync.replicas`; the cluster's own default where nothing is said.
    pub min_insync_replicas: Option<u16>,
    /// For how long a message is kept.
    pub retention: Span,
}

impl Admin {
    /// Connects lazily: the first request tells whether somebody is there.
    ///
    /// # Errors
    /// A secret cannot be had, or the client refuses its configuration.
    pub fn new(cluster: &Cluster) -> Result<Self, KafkaError> {
        let refused = |source| cluster.refused(source);
        let (config, voice) = cluster.asking()?;
        let admin = config.create_with_context(voice.clone()).map_err(refused)?;
        let reader = config.create_with_context(voice.clone()).map_err(refused)?;
        Ok(Self { cluster: cluster.clone(), config, voice, admin, reader })
    }

    /// Waits until the cluster lets us in, but not where waiting mends nothing.
    ///
    /// # Errors
    /// Why it does not.
    pub fn enter(&self) -> Result<(), KafkaError> {
        let began = Mono::now();
        while self.reader.fetch_metadata(Some(OFFSETS), GLANCE).is_err() {
            self.listen();
            let tried = Mono::now().since(began);
            let lasting = self.voice.complaint().is_some_and(|it| it.is_lasting());
            if lasting || tried >= REQUEST {
                return Err(self.closed(REQUEST));
            }
            if self.voice.all_refuse() && tried >= REFUSED {
                return Err(self.closed(REFUSED));
            }
        }
        Ok(())
    }

    /// Hears what the client has to say; nobody polls it otherwise.
    pub(super) fn listen(&self) {
        while self.reader.poll(Duration::ZERO).is_some() {}
    }

    fn closed(&self, within: Duration) -> KafkaError {
        let (complaint, user) = (self.voice.complaint(), self.cluster.user());
        let source = Trouble::of(complaint, user, &self.config, within);
        KafkaError::Closed { cluster: self.cluster.bootstrap.clone(), source }
    }

    pub(super) fn failed(&self, act: impl Into<String>) -> impl FnOnce(Error) -> KafkaError + '_ {
        let act = act.into();
        move |source| KafkaError::Request {
            cluster: self.cluster.bootstrap.clone(),
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
        let denied = RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
        if found.and_then(MetadataTopic::error) == Some(denied) {
            return Err(self.cluster.lacks("Describe", format!("topic {topic}")));
        }
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
                let (cluster, topic) = (self.cluster.bootstrap.clone(), topic.clone());
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

    /// The client ids of a consumer group's members, with how many bytes of assignment each has.
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

/// Asks a coordinator again while it is not ready: a cluster that has just started, or lost a
/// broker, is still reading its ledger.
pub(super) fn patiently<T>(mut ask: impl FnMut() -> KafkaResult<T>) -> KafkaResult<T> {
    let began = Mono::now();
    loop {
        let told = ask();
        let code = told.as_ref().err().and_then(Error::rdkafka_error_code);
        let passing = matches!(
            code,
            Some(
                RDKafkaErrorCode::CoordinatorLoadInProgress
                    | RDKafkaErrorCode::CoordinatorNotAvailable
                    | RDKafkaErrorCode::NotCoordinator
            )
        );
        if !passing || Mono::now().since(began) > LOADED {
            return told;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A member as the coordinator describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMember {
    /// Its `client.id`.
    pub client_id: String,
    /// Its assignment, in the consumer protocol's encoding.
    pub assignment: Vec<u8>,
}
