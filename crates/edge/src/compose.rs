//! Composes answers in the broker's place: a valid answer in the request's version, with an error
//! code where clients look for it. Pure.

use bytes::Bytes;
use kafka_protocol::messages::leave_group_response::MemberResponse;
use kafka_protocol::messages::{
    ApiKey, BrokerId, ConsumerGroupHeartbeatResponse, FindCoordinatorResponse, HeartbeatResponse,
    InitProducerIdResponse, JoinGroupResponse, LeaveGroupRequest, LeaveGroupResponse, RequestKind,
    ResponseKind, SyncGroupResponse,
};

use super::compose_topics as topics;
use super::error::CloseReason;
use super::head::Head;
use tandem_broker::wire::{Incoming, WireError, encode, number, parse_foreign};

/// The requests that can be answered.
const ANSWERED: [ApiKey; 13] = [
    ApiKey::Produce,
    ApiKey::Fetch,
    ApiKey::ListOffsets,
    ApiKey::Metadata,
    ApiKey::OffsetCommit,
    ApiKey::OffsetFetch,
    ApiKey::FindCoordinator,
    ApiKey::JoinGroup,
    ApiKey::Heartbeat,
    ApiKey::LeaveGroup,
    ApiKey::SyncGroup,
    ApiKey::InitProducerId,
    ApiKey::ConsumerGroupHeartbeat,
];

/// Whether requests of this API can be answered.
pub(super) fn can_answer(api: i16) -> bool {
    ANSWERED.iter().any(|key| number(*key) == api)
}

/// Composes the answer to a request; both include their length prefix.
///
/// # Errors
/// The request cannot be read, or its API cannot be answered.
pub(super) fn compose(head: &Head, mut framed: Bytes, code: i16) -> Result<Bytes, CloseReason> {
    let request = framed.split_off(framed.len().min(4));
    let unsupported = WireError::Unsupported { key: head.api, version: head.version };
    let Incoming::Request(request) = parse_foreign(request)? else {
        return Err(unsupported.into());
    };
    let (key, version) = (request.key, request.version);
    let body = answer(version, request.body, code).ok_or(unsupported)?;
    Ok(encode(key, version, head.correlation, &body)?)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "`can_answer` keeps the others out")]
fn answer(version: i16, request: RequestKind, code: i16) -> Option<ResponseKind> {
    use RequestKind as Req;
    use ResponseKind as Resp;
    Some(match request {
        Req::Produce(request) => Resp::Produce(topics::produce(request, code)),
        Req::Fetch(request) => Resp::Fetch(topics::fetch(version, request, code)),
        Req::ListOffsets(request) => Resp::ListOffsets(topics::list_offsets(request, code)),
        Req::Metadata(request) => Resp::Metadata(topics::metadata(version, request, code)),
        Req::OffsetCommit(request) => Resp::OffsetCommit(topics::offset_commit(request, code)),
        Req::OffsetFetch(request) => {
            Resp::OffsetFetch(topics::offset_fetch(version, request, code))
        }
        Req::FindCoordinator(request) => Resp::FindCoordinator(if version < 4 {
            let none = FindCoordinatorResponse::default().with_error_code(code);
            none.with_node_id(BrokerId(-1)).with_port(-1)
        } else {
            topics::coordinators(request, code)
        }),
        Req::JoinGroup(request) => Resp::JoinGroup(
            JoinGroupResponse::default()
                .with_error_code(code)
                .with_generation_id(-1)
                // Nullable since version 7.
                .with_protocol_name(Some(kafka_protocol::protocol::StrBytes::default()))
                .with_member_id(request.member_id),
        ),
        Req::Heartbeat(_) => Resp::Heartbeat(HeartbeatResponse::default().with_error_code(code)),
        Req::LeaveGroup(request) => Resp::LeaveGroup(leave(version, request, code)),
        Req::SyncGroup(_) => Resp::SyncGroup(SyncGroupResponse::default().with_error_code(code)),
        Req::InitProducerId(_) => {
            Resp::InitProducerId(InitProducerIdResponse::default().with_error_code(code))
        }
        Req::ConsumerGroupHeartbeat(_) => Resp::ConsumerGroupHeartbeat(
            ConsumerGroupHeartbeatResponse::default().with_error_code(code).with_member_id(None),
        ),
        _ => return None,
    })
}

/// Sets the code for the whole and for each member, since some clients check the one, some the
/// other.
fn leave(version: i16, request: LeaveGroupRequest, code: i16) -> LeaveGroupResponse {
    let answer = LeaveGroupResponse::default().with_error_code(code);
    if version < 3 {
        return answer;
    }
    let members = request.members.into_iter().map(|member| {
        MemberResponse::default()
            .with_member_id(member.member_id)
            .with_group_instance_id(member.group_instance_id)
            .with_error_code(code)
    });
    answer.with_members(members.collect())
}
