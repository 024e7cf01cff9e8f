//! ConsumerGroupHeartbeat and ConsumerGroupDescribe (KIP-848): conversion between the wire and the
//! coordinator.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kafka_protocol::messages::consumer_group_describe_response::{
    Assignment as Described, DescribedGroup, Member, TopicPartitions as DescribedTopic,
};
use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions as OwnedTopic;
use kafka_protocol::messages::consumer_group_heartbeat_response::{Assignment, TopicPartitions};
use kafka_protocol::messages::{
    ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
};
use uuid::Uuid;

use super::group_admin::NO_OPERATIONS;
use super::membership::owned;
use super::state::{Call, State, text};
use crate::groups::Fault;
use crate::groups::consumer::{
    ConsumerDescription, ConsumerHeartbeat, ConsumerMemberDescription, Partition, TopicId,
};

/// Kafka's number for a member of the newer protocol.
const CONSUMER: i8 = 1;

impl State {
    pub(super) fn consumer_heartbeat(
        &mut self,
        call: &Call<'_>,
        request: ConsumerGroupHeartbeatRequest,
    ) -> ConsumerGroupHeartbeatResponse {
        let topics = request.subscribed_topic_names;
        let beat = ConsumerHeartbeat {
            group: request.group_id.to_string(),
            member_id: request.member_id.to_string(),
            epoch: request.member_epoch,
            instance_id: owned(request.instance_id.as_ref()),
            rack_id: owned(request.rack_id.as_ref()),
            client_id: call.client_id.to_owned(),
            client_host: format!("/{}", call.caller.peer),
            // -1 if it has not changed.
            rebalance: u64::try_from(request.rebalance_timeout_ms).ok().map(Duration::from_millis),
            topics: topics.map(|names| names.iter().map(|name| name.to_string()).collect()),
            regex: owned(request.subscribed_topic_regex.as_ref()),
            assignor: owned(request.server_assignor.as_ref()),
            owned: request.topic_partitions.map(|topics| partitions(&topics)),
            spare_id: (call.version == 0).then(|| self.unique().to_string()),
        };
        match self.coordinator.handle_consumer_heartbeat(call.now, &beat) {
            Err(fault) => ConsumerGroupHeartbeatResponse::default()
                .with_error_code(fault.code())
                .with_error_message(Some(text(fault.to_string())))
                .with_member_id(None),
            Ok(reply) => ConsumerGroupHeartbeatResponse::default()
                .with_member_id(Some(text(reply.member_id)))
                .with_member_epoch(reply.epoch)
                .with_heartbeat_interval_ms(
                    i32::try_from(reply.interval.as_millis()).unwrap_or(i32::MAX),
                )
                .with_assignment(reply.assignment.map(|assigned| {
                    let topics = by_topic(&assigned).into_iter().map(|(id, partitions)| {
                        TopicPartitions::default().with_topic_id(id).with_partitions(partitions)
                    });
                    Assignment::default().with_topic_partitions(topics.collect())
                })),
        }
    }

    pub(super) fn describe_consumer_groups(
        &mut self,
        call: &Call<'_>,
        request: ConsumerGroupDescribeRequest,
    ) -> ConsumerGroupDescribeResponse {
        let each = request.group_ids.into_iter().map(|name| {
            let description = self.coordinator.handle_describe_consumer(call.now, name.as_str());
            let fault =
                if name.is_empty() { Fault::InvalidGroupId } else { Fault::GroupIdNotFound };
            let group = DescribedGroup::default()
                .with_group_id(name)
                .with_authorized_operations(NO_OPERATIONS);
            match description {
                Some(description) => self.described(call.version, group, description),
                None => group
                    .with_error_code(fault.code())
                    .with_error_message(Some(text(fault.to_string()))),
            }
        });
        let groups = each.collect();
        ConsumerGroupDescribeResponse::default().with_groups(groups)
    }

    fn described(
        &self,
        version: i16,
        group: DescribedGroup,
        description: ConsumerDescription,
    ) -> DescribedGroup {
        let members = description.members.into_iter().map(|member| self.member(version, member));
        group
            .with_group_state(text(description.state.to_string()))
            .with_group_epoch(description.epoch)
            .with_assignment_epoch(description.assignment_epoch)
            .with_assignor_name(text(description.assignor))
            .with_members(members.collect())
    }

    fn member(&self, version: i16, member: ConsumerMemberDescription) -> Member {
        let described = Member::default()
            .with_member_id(text(member.member_id))
            .with_instance_id(member.instance_id.map(text))
            .with_rack_id(member.rack_id.map(text))
            .with_member_epoch(member.epoch)
            .with_client_id(text(member.client_id))
            .with_client_host(text(member.client_host))
            .with_subscribed_topic_names(
                member.topics.into_iter().map(|name| text(name).into()).collect(),
            )
            .with_subscribed_topic_regex(Some(text(member.regex.unwrap_or_default())))
            .with_assignment(self.assignment(&member.assigned))
            .with_target_assignment(self.assignment(&member.target));
        if version >= 1 { described.with_member_type(CONSUMER) } else { described }
    }

    /// Partitions of topics that exist, with their names.
    fn assignment(&self, partitions: &BTreeSet<Partition>) -> Described {
        let topics = by_topic(partitions).into_iter().filter_map(|(id, partitions)| {
            let (name, _) = self.topics.by_id(id)?;
            Some(
                DescribedTopic::default()
                    .with_topic_id(id)
                    .with_topic_name(text(name).into())
                    .with_partitions(partitions),
            )
        });
        Described::default().with_topic_partitions(topics.collect())
    }
}

fn by_topic(partitions: &BTreeSet<Partition>) -> BTreeMap<Uuid, Vec<i32>> {
    let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    for at in partitions {
        topics.entry(Uuid::from_u128(at.topic.0)).or_default().push(at.index);
    }
    topics
}

fn partitions(topics: &[OwnedTopic]) -> Vec<Partition> {
    let each = topics.iter().flat_map(|topic| {
        let id = TopicId(topic.topic_id.as_u128());
        topic.partitions.iter().map(move |index| Partition { topic: id, index: *index })
    });
    each.collect()
}
