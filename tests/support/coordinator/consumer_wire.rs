//! Transcripts of the newer protocol (KIP-848): what a broker is asked, and what it says.

use std::collections::{BTreeMap, BTreeSet};

use kafka_protocol::messages::consumer_group_describe_response::{
    Assignment, DescribedGroup, Member,
};
use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::{
    ApiKey, ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse, DescribeConfigsRequest, IncrementalAlterConfigsRequest,
    MetadataRequest, OffsetFetchRequest, RequestKind, ResponseKind,
};
use tandem::groups::consumer::{
    ConsumerDescription, ConsumerHeartbeat, ConsumerMemberDescription, ConsumerReply,
    GroupOverrides, Partition, TopicId,
};
use uuid::Uuid;

use super::consumer::{TOPICS, beaten, consumer_state, inspected, recalled, topic_id};
use super::frames::Ask;
use super::heard::Reader;
use super::wire::text;
use super::{Answer, Request, said};

const ASSIGNORS: [&str; 2] = ["range", "uniform"];
/// The resource type of a group.
const GROUP: i8 = 32;

/// The ids of the topics on a broker.
#[derive(Debug, Default)]
pub struct Topics(BTreeMap<TopicId, Uuid>);

/// Asks for the ids of the topics.
pub fn metadata() -> Ask {
    let body = RequestKind::Metadata(MetadataRequest::default().with_topics(None));
    Ask { key: ApiKey::Metadata, version: 12, body }
}

impl Topics {
    /// The ids, if all topics are there.
    pub fn read(body: &ResponseKind) -> Option<Self> {
        let ResponseKind::Metadata(answer) = body else { unreachable!() };
        let id = |name: &str| {
            let found =
                answer.topics.iter().find(|t| t.name.as_ref().is_some_and(|n| *n.0 == *name));
            found.map(|topic| (topic_id(name), topic.topic_id))
        };
        TOPICS.iter().map(|(name, _)| id(name)).collect::<Option<_>>().map(Self)
    }

    fn id(&self, topic: TopicId) -> Uuid {
        self.0[&topic]
    }

    fn partitions<'a>(
        &self,
        topics: impl Iterator<Item = (Uuid, &'a Vec<i32>)>,
    ) -> BTreeSet<Partition> {
        let known = |id: Uuid| *self.0.iter().find(|(_, real)| **real == id).unwrap().0;
        let each = topics.flat_map(|(id, indexes)| {
            let topic = known(id);
            indexes.iter().map(move |index| Partition { topic, index: *index })
        });
        each.collect()
    }
}

pub fn ask(request: Request, topics: &Topics) -> Option<Ask> {
    let (key, version, body) = match request {
        Request::Beat(beat) => {
            let body = RequestKind::ConsumerGroupHeartbeat(beating(beat, topics));
            (ApiKey::ConsumerGroupHeartbeat, 1, body)
        }
        Request::Inspect(group) => {
            let ask =
                ConsumerGroupDescribeRequest::default().with_group_ids(vec![text(group).into()]);
            (ApiKey::ConsumerGroupDescribe, 1, RequestKind::ConsumerGroupDescribe(ask))
        }
        Request::Configure(group, to) => {
            let configs = values(to).into_iter().map(|(name, value)| {
                AlterableConfig::default().with_name(text(name)).with_value(Some(text(value)))
            });
            let resource = AlterConfigsResource::default()
                .with_resource_type(GROUP)
                .with_resource_name(text(group))
                .with_configs(configs.collect());
            let ask = IncrementalAlterConfigsRequest::default().with_resources(vec![resource]);
            (ApiKey::IncrementalAlterConfigs, 1, RequestKind::IncrementalAlterConfigs(ask))
        }
        Request::Recall(group, member, epoch, at) => {
            let topic = OffsetFetchRequestTopics::default()
                .with_name(text(at.topic).into())
                .with_partition_indexes(vec![at.partition]);
            let group = OffsetFetchRequestGroup::default()
                .with_group_id(text(group).into())
                .with_member_id((!member.is_empty()).then(|| text(member)))
                .with_member_epoch(epoch)
                .with_topics(Some(vec![topic]));
            let ask = OffsetFetchRequest::default().with_groups(vec![group]);
            (ApiKey::OffsetFetch, 9, RequestKind::OffsetFetch(ask))
        }
        other => panic!("of the other protocol: {other:?}"),
    };
    Some(Ask { key, version, body })
}

fn beating(beat: ConsumerHeartbeat, topics: &Topics) -> ConsumerGroupHeartbeatRequest {
    let rebalance = beat.rebalance.map_or(-1, |span| i32::try_from(span.as_millis()).unwrap());
    let owned = beat.owned.map(|owned| {
        let mut by_topic: BTreeMap<TopicId, Vec<i32>> = BTreeMap::new();
        for at in owned {
            by_topic.entry(at.topic).or_default().push(at.index);
        }
        let each = by_topic.into_iter().map(|(topic, indexes)| {
            TopicPartitions::default().with_topic_id(topics.id(topic)).with_partitions(indexes)
        });
        each.collect()
    });
    ConsumerGroupHeartbeatRequest::default()
        .with_group_id(text(beat.group).into())
        .with_member_id(text(beat.member_id))
        .with_member_epoch(beat.epoch)
        .with_instance_id(beat.instance_id.map(text))
        .with_rebalance_timeout_ms(rebalance)
        .with_subscribed_topic_names(
            beat.topics.map(|names| names.into_iter().map(|name| text(name).into()).collect()),
        )
        .with_subscribed_topic_regex(beat.regex.map(text))
        .with_server_assignor(beat.assignor.map(text))
        .with_topic_partitions(owned)
}

fn values(overrides: GroupOverrides) -> Vec<(&'static str, String)> {
    let each = [
        ("consumer.session.timeout.ms", overrides.session),
        ("consumer.heartbeat.interval.ms", overrides.heartbeat),
    ];
    each.into_iter()
        .filter_map(|(name, span)| Some((name, span?.as_millis().to_string())))
        .collect()
}

/// How to see that the settings of a group were changed, and what is seen then.
pub fn settled(request: &Request) -> Option<(Ask, Vec<(&'static str, String)>)> {
    let Request::Configure(group, to) = request else { return None };
    let resource = DescribeConfigsResource::default()
        .with_resource_type(GROUP)
        .with_resource_name(text(group.as_str()))
        .with_configuration_keys(None);
    let body = RequestKind::DescribeConfigs(
        DescribeConfigsRequest::default().with_resources(vec![resource]),
    );
    Some((Ask { key: ApiKey::DescribeConfigs, version: 4, body }, values(*to)))
}

/// Whether a group has these settings.
pub fn has(body: &ResponseKind, values: &[(&str, String)]) -> bool {
    let ResponseKind::DescribeConfigs(answer) = body else { unreachable!() };
    let configs = || answer.results.iter().flat_map(|one| &one.configs);
    values.iter().all(|(name, value)| {
        configs().any(|one| *one.name == **name && one.value.as_deref() == Some(value))
    })
}

/// Kafka describes none as an empty one.
fn regex(member: &Member) -> Option<String> {
    let regex = member.subscribed_topic_regex.as_ref()?;
    (!regex.is_empty()).then(|| regex.to_string())
}

impl Reader<'_> {
    pub(super) fn consumer(&mut self, client: &str, body: ResponseKind) -> Answer {
        match body {
            ResponseKind::ConsumerGroupHeartbeat(answer) => self.beaten(client, answer),
            ResponseKind::ConsumerGroupDescribe(answer) => {
                let group = answer.groups.into_iter().next().unwrap();
                let code = group.error_code;
                let found = (code == 0).then(|| self.inspected(&group)).ok_or(code);
                inspected(client, found.as_ref().map_err(|code| *code))
            }
            ResponseKind::IncrementalAlterConfigs(answer) => {
                said::done(client, "configure", answer.responses[0].error_code)
            }
            ResponseKind::OffsetFetch(answer) => {
                let group = &answer.groups[0];
                let offset = || group.topics[0].partitions[0].committed_offset;
                let found = (group.error_code == 0).then(offset).ok_or(group.error_code);
                recalled(client, found.map(|offset| (offset >= 0).then_some(offset)))
            }
            other => panic!("unrequested: {other:?}"),
        }
    }

    fn beaten(&self, client: &str, answer: ConsumerGroupHeartbeatResponse) -> Answer {
        if answer.error_code != 0 {
            return beaten(client, Err(answer.error_code));
        }
        let assignment = answer.assignment.map(|assignment| {
            let topics = &assignment.topic_partitions;
            self.topics.partitions(topics.iter().map(|one| (one.topic_id, &one.partitions)))
        });
        let reply = ConsumerReply {
            member_id: answer.member_id.unwrap().to_string(),
            epoch: answer.member_epoch,
            interval: std::time::Duration::ZERO,
            assignment,
        };
        beaten(client, Ok(&reply))
    }

    fn inspected(&self, group: &DescribedGroup) -> ConsumerDescription {
        let assigned = |assignment: &Assignment| {
            let topics = &assignment.topic_partitions;
            self.topics.partitions(topics.iter().map(|one| (one.topic_id, &one.partitions)))
        };
        let members = group.members.iter().map(|member| ConsumerMemberDescription {
            member_id: member.member_id.to_string(),
            instance_id: member.instance_id.as_ref().map(ToString::to_string),
            rack_id: None,
            epoch: member.member_epoch,
            client_id: member.client_id.to_string(),
            client_host: member.client_host.to_string(),
            topics: member.subscribed_topic_names.iter().map(|name| name.to_string()).collect(),
            regex: regex(member),
            assigned: assigned(&member.assignment),
            target: assigned(&member.target_assignment),
        });
        let known = ASSIGNORS.into_iter().find(|name| *name == &*group.assignor_name);
        ConsumerDescription {
            state: consumer_state(&group.group_state),
            epoch: group.group_epoch,
            assignment_epoch: group.assignment_epoch,
            assignor: known.unwrap(),
            members: members.collect(),
        }
    }
}
