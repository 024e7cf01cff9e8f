//! The answers to a member, as values.

use std::collections::BTreeSet;

use kafka_protocol::messages::{JoinGroupResponse, LeaveGroupResponse, MetadataResponse};
use tandem_facts::ids::PartitionId;
use tandem_neli::membership::{Joined, JoinedMember, Refusal, Response};

use super::refused;

pub(super) fn joined(it: JoinGroupResponse) -> Response {
    if let Some(refusal) = Refusal::from_code(it.error_code) {
        return Response::Refused { refusal, member_id: Some(it.member_id.to_string()) };
    }
    let members = it.members.into_iter().map(|member| JoinedMember {
        member_id: member.member_id.to_string(),
        instance_id: member.group_instance_id.map(|id| id.to_string()),
        metadata: member.metadata.to_vec(),
    });
    Response::Joined(Joined {
        member_id: it.member_id.to_string(),
        generation: it.generation_id,
        protocol: it.protocol_name.unwrap_or_default().to_string(),
        leader: it.leader.to_string(),
        skip_assignment: it.skip_assignment,
        members: members.collect(),
    })
}

/// The partitions that have leaders; none of a topic that the broker does not know.
pub(super) fn led(it: &MetadataResponse) -> Response {
    let partitions = it.topics.iter().flat_map(|topic| &topic.partitions);
    let led = partitions.filter(|it| it.leader_id.0 >= 0);
    let led = led.filter_map(|it| u32::try_from(it.partition_index).ok());
    Response::Leaders(led.map(PartitionId).collect::<BTreeSet<_>>())
}

/// From version 3 on each member has an error of its own.
pub(super) fn departed(it: &LeaveGroupResponse) -> Response {
    let code = match it.members.first() {
        Some(member) if it.error_code == 0 => member.error_code,
        Some(_) | None => it.error_code,
    };
    refused(code).unwrap_or(Response::Done)
}
