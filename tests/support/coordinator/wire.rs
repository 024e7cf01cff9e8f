//! Requests of a transcript, as they are said to a broker.

use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestTopic;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    ApiKey, DeleteGroupsRequest, DescribeGroupsRequest, HeartbeatRequest, JoinGroupRequest,
    LeaveGroupRequest, ListGroupsRequest, OffsetCommitRequest, OffsetFetchRequest, RequestKind,
    SyncGroupRequest,
};
use kafka_protocol::protocol::StrBytes;
use tandem::groups::{Commit, Heartbeat, Join, Leave, Sync, TopicPartition};

use super::Request;
use super::consumer_wire::{self, Topics};
use super::frames::Ask;

/// None where time passes and nothing is said.
pub fn ask(request: Request, topics: &Topics) -> Option<Ask> {
    let (key, version, body) = match request {
        Request::Join(join) => {
            let version = match (join.needs_known_id, join.can_skip_assignment) {
                (false, _) => 3,
                (true, false) => 8,
                (true, true) => 9,
            };
            (ApiKey::JoinGroup, version, RequestKind::JoinGroup(joining(join, version)))
        }
        Request::Sync(sync) => {
            let version = if sync.must_name_protocol { 5 } else { 4 };
            (ApiKey::SyncGroup, version, RequestKind::SyncGroup(syncing(sync)))
        }
        Request::Heartbeat(beat) => (ApiKey::Heartbeat, 4, RequestKind::Heartbeat(beating(beat))),
        Request::Leave(leave) => (ApiKey::LeaveGroup, 5, RequestKind::LeaveGroup(leaving(leave))),
        Request::Commit(commit) => {
            let version = if commit.knows_group_id_not_found { 9 } else { 8 };
            (ApiKey::OffsetCommit, version, RequestKind::OffsetCommit(committing(commit)))
        }
        Request::Fetch(group, at) => {
            (ApiKey::OffsetFetch, 7, RequestKind::OffsetFetch(fetching(group, at)))
        }
        Request::Describe(group) => {
            let ask = DescribeGroupsRequest::default().with_groups(vec![text(group).into()]);
            (ApiKey::DescribeGroups, 5, RequestKind::DescribeGroups(ask))
        }
        Request::List => {
            (ApiKey::ListGroups, 5, RequestKind::ListGroups(ListGroupsRequest::default()))
        }
        Request::Delete(group) => {
            let ask = DeleteGroupsRequest::default().with_groups_names(vec![text(group).into()]);
            (ApiKey::DeleteGroups, 2, RequestKind::DeleteGroups(ask))
        }
        Request::Beat(_) | Request::Inspect(_) | Request::Configure(..) | Request::Recall(..) => {
            return consumer_wire::ask(request, topics);
        }
        Request::Wait => return None,
    };
    Some(Ask { key, version, body })
}

fn joining(join: Join, version: i16) -> JoinGroupRequest {
    assert!(join.instance_id.is_none() || version >= 5, "no static members before version 5");
    let protocols = join.protocols.into_iter().map(|protocol| {
        JoinGroupRequestProtocol::default()
            .with_name(text(protocol.name))
            .with_metadata(protocol.metadata)
    });
    JoinGroupRequest::default()
        .with_group_id(text(join.group).into())
        .with_member_id(text(join.member_id))
        .with_group_instance_id(join.instance_id.map(text))
        .with_session_timeout_ms(i32::try_from(join.session.as_millis()).unwrap())
        .with_rebalance_timeout_ms(i32::try_from(join.rebalance.as_millis()).unwrap())
        .with_protocol_type(text(join.protocol_type))
        .with_protocols(protocols.collect())
}

fn syncing(sync: Sync) -> SyncGroupRequest {
    let shares = sync.assignments.into_iter().map(|(member, share)| {
        SyncGroupRequestAssignment::default().with_member_id(text(member)).with_assignment(share)
    });
    SyncGroupRequest::default()
        .with_group_id(text(sync.group).into())
        .with_member_id(text(sync.member_id))
        .with_group_instance_id(sync.instance_id.map(text))
        .with_generation_id(sync.generation)
        .with_protocol_type(sync.protocol_type.map(text))
        .with_protocol_name(sync.protocol.map(text))
        .with_assignments(shares.collect())
}

pub fn beating(beat: Heartbeat) -> HeartbeatRequest {
    HeartbeatRequest::default()
        .with_group_id(text(beat.group).into())
        .with_member_id(text(beat.member_id))
        .with_group_instance_id(beat.instance_id.map(text))
        .with_generation_id(beat.generation)
}

fn leaving(leave: Leave) -> LeaveGroupRequest {
    let members = leave.members.into_iter().map(|who| {
        MemberIdentity::default()
            .with_member_id(text(who.member_id))
            .with_group_instance_id(who.instance_id.map(text))
    });
    LeaveGroupRequest::default()
        .with_group_id(text(leave.group).into())
        .with_members(members.collect())
}

fn committing(commit: Commit) -> OffsetCommitRequest {
    let topics = commit.positions.into_iter().map(|(at, offset)| {
        let partition = OffsetCommitRequestPartition::default()
            .with_partition_index(at.partition)
            .with_committed_offset(offset.offset)
            .with_committed_leader_epoch(offset.leader_epoch)
            .with_committed_metadata(Some(text(offset.metadata)));
        OffsetCommitRequestTopic::default()
            .with_name(text(at.topic).into())
            .with_partitions(vec![partition])
    });
    OffsetCommitRequest::default()
        .with_group_id(text(commit.group).into())
        .with_member_id(text(commit.member_id))
        .with_group_instance_id(commit.instance_id.map(text))
        .with_generation_id_or_member_epoch(commit.generation)
        .with_topics(topics.collect())
}

fn fetching(group: String, at: TopicPartition) -> OffsetFetchRequest {
    let topic = OffsetFetchRequestTopic::default()
        .with_name(text(at.topic).into())
        .with_partition_indexes(vec![at.partition]);
    OffsetFetchRequest::default().with_group_id(text(group).into()).with_topics(Some(vec![topic]))
}

pub fn text(text: impl Into<String>) -> StrBytes {
    StrBytes::from_string(text.into())
}
