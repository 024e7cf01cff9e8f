//! The requests of a member of the newer protocol (KIP-848), and of its group's settings.

use std::time::Duration;

use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::{
    ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse, DescribeConfigsRequest, DescribeConfigsResponse,
};
use kafka_protocol::protocol::StrBytes;
use std::collections::BTreeMap;
use uuid::Uuid;

use super::{Speaker, index, refused, text};
use tandem_facts::ids::PartitionId;
use tandem_neli::membership::{Beat, Beaten, Response, Share, TopicPartition};

/// The type of a resource that has the settings of a group.
pub(in crate::own_group) const GROUP: i8 = 32;
/// How long the coordinator waits for a silent member of the group.
pub(in crate::own_group) const SESSION: &str = "consumer.session.timeout.ms";

impl Speaker {
    pub(super) fn beat(&self, beat: &Beat) -> ConsumerGroupHeartbeatRequest {
        let whole = ConsumerGroupHeartbeatRequest::default()
            .with_group_id(self.group.clone().into())
            .with_member_id(text(beat.member_id.clone()))
            .with_member_epoch(beat.epoch)
            .with_instance_id(self.instance.clone())
            .with_rebalance_timeout_ms(-1)
            .with_topic_partitions(beat.owned.as_deref().map(named));
        if beat.whole {
            whole
                .with_rebalance_timeout_ms(self.rebalance_ms)
                .with_subscribed_topic_names(Some(vec![self.topic.clone().into()]))
                .with_server_assignor(self.assignor.clone())
        } else {
            whole
        }
    }

    pub(super) fn session(&self) -> DescribeConfigsRequest {
        let resource = DescribeConfigsResource::default()
            .with_resource_type(GROUP)
            .with_resource_name(self.group.clone())
            .with_configuration_keys(Some(vec![StrBytes::from_static_str(SESSION)]));
        DescribeConfigsRequest::default().with_resources(vec![resource])
    }
}

impl Speaker {
    pub(super) fn members(&self) -> ConsumerGroupDescribeRequest {
        ConsumerGroupDescribeRequest::default().with_group_ids(vec![self.group.clone().into()])
    }
}

/// How many members the group has; none where the answer does not say it.
pub(super) fn members(it: &ConsumerGroupDescribeResponse) -> Option<Response> {
    let group = it.groups.first()?;
    Some(refused(group.error_code).unwrap_or(Response::Members(group.members.len())))
}

/// Partitions by topic.
fn named(owned: &[TopicPartition]) -> Vec<TopicPartitions> {
    let mut topics: BTreeMap<u128, Vec<i32>> = BTreeMap::new();
    for TopicPartition { topic, partition } in owned {
        topics.entry(*topic).or_default().push(index(*partition));
    }
    let each = topics.into_iter().map(|(topic, partitions)| {
        TopicPartitions::default().with_topic_id(Uuid::from_u128(topic)).with_partitions(partitions)
    });
    each.collect()
}

pub(super) fn beaten(it: ConsumerGroupHeartbeatResponse) -> Response {
    if let Some(refused) = refused(it.error_code) {
        return refused;
    }
    let share = |all: Vec<_>| -> Share {
        let each = all.into_iter().flat_map(
            |one: kafka_protocol::messages::consumer_group_heartbeat_response::TopicPartitions| {
                let topic = one.topic_id.as_u128();
                one.partitions.into_iter().filter_map(move |partition| {
                    let partition = PartitionId(u32::try_from(partition).ok()?);
                    Some(TopicPartition { topic, partition })
                })
            },
        );
        each.collect()
    };
    Response::Beaten(Beaten {
        epoch: it.member_epoch,
        interval: Duration::from_millis(u64::try_from(it.heartbeat_interval_ms).unwrap_or(0)),
        assignment: it.assignment.map(|it| share(it.topic_partitions)),
    })
}

/// The session of the group; none where the answer does not say it.
pub(super) fn session(it: &DescribeConfigsResponse) -> Option<Response> {
    let result = it.results.first()?;
    if let Some(refused) = refused(result.error_code) {
        return Some(refused);
    }
    let entry = result.configs.iter().find(|entry| entry.name.as_str() == SESSION)?;
    let ms: u64 = entry.value.as_ref()?.as_str().parse().ok()?;
    Some(Response::Session(Duration::from_millis(ms)))
}
