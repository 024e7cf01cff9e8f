//! CreateTopics and DeleteTopics.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::create_topics_response::CreatableTopicResult;
use kafka_protocol::messages::delete_topics_response::DeletableTopicResult;
use kafka_protocol::messages::{
    BrokerId, CreateTopicsRequest, CreateTopicsResponse, DeleteTopicsRequest, DeleteTopicsResponse,
};
use uuid::Uuid;

use super::error::{
    INVALID_CONFIG, INVALID_PARTITIONS, INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR,
    INVALID_REQUEST, INVALID_TOPIC, POLICY_VIOLATION, TOPIC_ALREADY_EXISTS, UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
};
use super::state::{Call, NODE, State, text};
use super::topic::{Config, Topic};
use crate::groups::consumer::TopicId;
use tandem_facts::ids::TopicName;

/// An error code and its reason.
type Refusal = (i16, String);

/// The width and configuration of a topic that may be created.
type Accepted = (usize, Config);

impl State {
    pub(super) fn create_topics(
        &mut self,
        call: &Call<'_>,
        request: CreateTopicsRequest,
    ) -> CreateTopicsResponse {
        let mut seen = BTreeSet::new();
        let mut twice = BTreeSet::new();
        for topic in &request.topics {
            if !seen.insert(topic.name.to_string()) {
                twice.insert(topic.name.to_string());
            }
        }
        let mut topics = Vec::with_capacity(request.topics.len());
        for topic in request.topics {
            let name = topic.name.to_string();
            let accepted = if twice.contains(&name) {
                Err((INVALID_REQUEST, "the topic is named twice".to_owned()))
            } else {
                self.check(&topic)
            };
            let result = CreatableTopicResult::default().with_name(topic.name);
            topics.push(match accepted {
                Ok(accepted) => self.create(call, result, name, accepted, request.validate_only),
                Err((code, why)) => result
                    .with_error_code(code)
                    .with_error_message(Some(text(why)))
                    .with_num_partitions(-1)
                    .with_replication_factor(-1),
            });
        }
        CreateTopicsResponse::default().with_topics(topics)
    }

    fn create(
        &mut self,
        call: &Call<'_>,
        result: CreatableTopicResult,
        name: String,
        (width, config): Accepted,
        validate_only: bool,
    ) -> CreatableTopicResult {
        let result = result
            .with_num_partitions(i32::try_from(width).unwrap_or(i32::MAX))
            .with_replication_factor(1)
            .with_configs(Some(super::configs::created(&config)));
        if validate_only {
            return result;
        }
        result.with_topic_id(self.add(call, name, (width, config)))
    }

    /// Adds a topic that may be created. Returns its id.
    fn add(&mut self, call: &Call<'_>, name: String, (width, config): Accepted) -> Uuid {
        let id = self.unique();
        tracing::info!(topic = %name, partitions = width, "A topic was created.");
        let topic = Topic::new(id, width, config);
        let seen = TopicId(id.as_u128());
        self.coordinator.handle_topic(call.now, &name, seen, topic.width());
        self.topics.insert(name, topic);
        id
    }

    /// Creates a topic that a client wants, if the settings say so and there is room.
    pub(super) fn auto_create(&mut self, call: &Call<'_>, name: &str) {
        if self.settings.auto_create.is_none() {
            return;
        }
        let width = self.width_by_default();
        let fits = name.parse::<TopicName>().is_ok() && self.has_room_for(width);
        if fits && self.topics.get(name).is_none() {
            self.add(call, name.to_owned(), (width, Config::default()));
        }
    }

    fn check(&self, topic: &CreatableTopic) -> Result<Accepted, Refusal> {
        let name = topic.name.as_str();
        if let Err(error) = name.parse::<TopicName>() {
            return Err((INVALID_TOPIC, error.to_string()));
        }
        if self.topics.get(name).is_some() {
            return Err((TOPIC_ALREADY_EXISTS, format!("Topic '{name}' already exists.")));
        }
        let width = width(topic, self.width_by_default())?;
        if !self.has_room_for(width) {
            return Err((POLICY_VIOLATION, "the broker holds no more partitions".to_owned()));
        }
        let given = topic.configs.iter().map(|config| {
            let value = config.value.as_ref().map(ToString::to_string).unwrap_or_default();
            (config.name.to_string(), value)
        });
        let config = Config::read(given.collect()).map_err(|why| (INVALID_CONFIG, why))?;
        Ok((width, config))
    }

    /// `num.partitions`.
    pub(super) fn width_by_default(&self) -> usize {
        let width = self.settings.auto_create.map_or(1, NonZeroU32::get);
        usize::try_from(width).unwrap_or(usize::MAX)
    }

    /// Whether the broker can hold this many additional partitions.
    pub(super) fn has_room_for(&self, partitions: usize) -> bool {
        let held: usize = self.topics.values().map(|topic| topic.logs().len()).sum();
        held.saturating_add(partitions) <= self.settings.partitions_max
    }

    pub(super) fn delete_topics(
        &mut self,
        call: &Call<'_>,
        request: DeleteTopicsRequest,
    ) -> DeleteTopicsResponse {
        let by_name = request.topic_names.into_iter().map(|name| (Some(name), Uuid::nil()));
        let by_either = request.topics.into_iter().map(|topic| (topic.name, topic.topic_id));
        let mut responses = Vec::new();
        for (name, id) in by_name.chain(by_either) {
            let missing =
                if name.is_some() { UNKNOWN_TOPIC_OR_PARTITION } else { UNKNOWN_TOPIC_ID };
            let found = match &name {
                Some(name) => Some(name.to_string()),
                None => self.topics.by_id(id).map(|(name, _)| name.to_owned()),
            };
            let gone = found.and_then(|name| self.topics.remove(&name));
            responses.push(match gone {
                Some((name, topic)) => {
                    tracing::info!(topic = %name, "A topic was deleted.");
                    self.coordinator.handle_topic_deleted(call.now, &name);
                    let id = topic.id;
                    topic.close();
                    DeletableTopicResult::default()
                        .with_name(Some(text(name).into()))
                        .with_topic_id(id)
                }
                None => DeletableTopicResult::default()
                    .with_name(name)
                    .with_topic_id(id)
                    .with_error_code(missing),
            });
        }
        DeleteTopicsResponse::default().with_responses(responses)
    }
}

/// The requested number of partitions: a number, the default, or a list of assignments.
fn width(topic: &CreatableTopic, default: usize) -> Result<usize, Refusal> {
    let invalid = |why: &str| (INVALID_PARTITIONS, why.to_owned());
    if !topic.assignments.is_empty() {
        let here =
            |a: &kafka_protocol::messages::create_topics_request::CreatableReplicaAssignment| {
                a.broker_ids == [BrokerId(NODE)]
            };
        let mut partitions: Vec<i32> =
            topic.assignments.iter().map(|a| a.partition_index).collect();
        partitions.sort_unstable();
        let gapless = (0..).zip(&partitions).all(|(at, partition)| at == *partition);
        if !gapless || !topic.assignments.iter().all(here) {
            let why = "partitions must be numbered from 0 and assigned to the only broker";
            return Err((INVALID_REPLICA_ASSIGNMENT, why.to_owned()));
        }
        return Ok(partitions.len());
    }
    if !matches!(topic.replication_factor, -1 | 1) {
        return Err((INVALID_REPLICATION_FACTOR, "there is one broker".to_owned()));
    }
    match topic.num_partitions {
        -1 => Ok(default),
        0 => Err(invalid("a topic has at least one partition")),
        partitions => {
            usize::try_from(partitions).map_err(|_| invalid("the number of partitions is negative"))
        }
    }
}
