//! DescribeConfigs: settings and their sources.

use kafka_protocol::messages::create_topics_response::CreatableTopicConfigs;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResult,
};
use kafka_protocol::messages::{DescribeConfigsRequest, DescribeConfigsResponse};

use super::error::{INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION};
use super::state::{NODE, State, text};
use super::topic::{Config, KNOWN};

pub(super) const TOPIC: i8 = 2;
const BROKER: i8 = 4;
pub(super) const GROUP: i8 = 32;

/// The source of a value, with Kafka's numbers. It must never be -1, on which librdkafka aborts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    DynamicTopic = 1,
    StaticBroker = 4,
    Default = 5,
    DynamicGroup = 8,
}

/// The name of a setting, its value, and the value's source.
pub(super) type Entry = (String, String, Source);

impl State {
    pub(super) fn describe_configs(
        &self,
        request: DescribeConfigsRequest,
    ) -> DescribeConfigsResponse {
        let results =
            request.resources.into_iter().map(|resource| self.describe_resource(resource));
        DescribeConfigsResponse::default().with_results(results.collect())
    }

    fn describe_resource(&self, requested: DescribeConfigsResource) -> DescribeConfigsResult {
        let name = requested.resource_name.as_str();
        let found = match requested.resource_type {
            TOPIC => match self.topics.get(name) {
                Some(topic) => Ok(topic_entries(&topic.config)),
                None => Err((UNKNOWN_TOPIC_OR_PARTITION, "there is no such topic")),
            },
            BROKER if name.is_empty() || name == NODE.to_string() => Ok(self.broker_entries()),
            BROKER => Err((INVALID_REQUEST, "there is no such broker")),
            GROUP if name.is_empty() => Err((INVALID_REQUEST, "a group has a name")),
            GROUP => Ok(self.group_entries(name)),
            _ => Err((INVALID_REQUEST, "only topics, brokers and groups have settings here")),
        };
        let result = DescribeConfigsResult::default().with_resource_type(requested.resource_type);
        let result = match found {
            Ok(entries) => {
                let keys = requested.configuration_keys.as_deref();
                let wanted = |name: &str| keys.is_none_or(|keys| keys.iter().any(|k| k == name));
                let entries = entries.into_iter().filter(|(name, ..)| wanted(name));
                result.with_configs(entries.map(described).collect())
            }
            Err((code, why)) => result.with_error_code(code).with_error_message(Some(text(why))),
        };
        result.with_resource_name(requested.resource_name)
    }

    fn broker_entries(&self) -> Vec<Entry> {
        let groups = &self.settings.groups;
        let consumer = &groups.consumer;
        let ms = |span: std::time::Duration| span.as_millis().to_string();
        let set = |name: &str, value: String| (name.to_owned(), value, Source::StaticBroker);
        vec![
            set("auto.create.topics.enable", self.settings.auto_create.is_some().to_string()),
            set("broker.id", NODE.to_string()),
            set("connections.max.idle.ms", ms(self.settings.idle)),
            set("default.replication.factor", "1".to_owned()),
            set("group.consumer.assignors", "uniform,range".to_owned()),
            set("group.consumer.heartbeat.interval.ms", ms(consumer.heartbeat)),
            set("group.consumer.max.heartbeat.interval.ms", ms(consumer.heartbeat_max)),
            set("group.consumer.max.session.timeout.ms", ms(consumer.session_max)),
            set("group.consumer.max.size", groups.members_max.to_string()),
            set("group.consumer.migration.policy", "disabled".to_owned()),
            set("group.consumer.min.heartbeat.interval.ms", ms(consumer.heartbeat_min)),
            set("group.consumer.min.session.timeout.ms", ms(consumer.session_min)),
            set("group.consumer.session.timeout.ms", ms(consumer.session)),
            set("group.coordinator.rebalance.protocols", "classic,consumer".to_owned()),
            set("group.initial.rebalance.delay.ms", ms(groups.initial_delay)),
            set("group.max.session.timeout.ms", ms(groups.session_max)),
            set("group.max.size", groups.members_max.to_string()),
            set("group.min.session.timeout.ms", ms(groups.session_min)),
            set("log.message.timestamp.type", "CreateTime".to_owned()),
            set("log.retention.ms", ms(self.settings.retention)),
            set("message.max.bytes", self.settings.batch_bytes_max.to_string()),
            set("node.id", NODE.to_string()),
            set("num.partitions", self.width_by_default().to_string()),
            set("offset.metadata.max.bytes", groups.offset_metadata_bytes_max.to_string()),
            set("offsets.topic.num.partitions", "50".to_owned()),
        ]
    }
}

fn topic_entries(config: &Config) -> Vec<Entry> {
    let entry = |(name, default): &(&str, &str)| match config.given.get(*name) {
        Some(value) => ((*name).to_owned(), value.clone(), Source::DynamicTopic),
        None => ((*name).to_owned(), (*default).to_owned(), Source::Default),
    };
    KNOWN.iter().map(entry).collect()
}

/// The settings of a new topic, for the answer to CreateTopics (KIP-525).
pub(super) fn created(config: &Config) -> Vec<CreatableTopicConfigs> {
    let entry = |(name, value, source): Entry| {
        CreatableTopicConfigs::default()
            .with_name(text(name))
            .with_value(Some(text(value)))
            .with_config_source(number(source))
    };
    topic_entries(config).into_iter().map(entry).collect()
}

fn described((name, value, source): Entry) -> DescribeConfigsResourceResult {
    let kind = kind(&value);
    DescribeConfigsResourceResult::default()
        .with_name(text(name))
        .with_value(Some(text(value)))
        .with_read_only(matches!(source, Source::StaticBroker))
        .with_config_source(number(source))
        .with_config_type(kind)
}

/// BOOLEAN, LONG, DOUBLE or STRING, by Kafka's numbers.
fn kind(value: &str) -> i8 {
    if value.parse::<bool>().is_ok() {
        1
    } else if value.parse::<i64>().is_ok() {
        5
    } else if value.parse::<f64>().is_ok() {
        6
    } else {
        2
    }
}

#[expect(clippy::as_conversions, reason = "an enum of numbers")]
const fn number(source: Source) -> i8 {
    source as i8
}
