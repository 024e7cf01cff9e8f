//! JoinGroup, SyncGroup, Heartbeat, LeaveGroup: conversion between the wire and the coordinator.

use std::time::Duration;

use kafka_protocol::messages::join_group_response::JoinGroupResponseMember;
use kafka_protocol::messages::leave_group_response::MemberResponse;
use kafka_protocol::messages::{
    HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest,
    LeaveGroupResponse, SyncGroupRequest, SyncGroupResponse,
};
use kafka_protocol::protocol::StrBytes;
use tokio::sync::oneshot;

use super::error::NONE;
use super::state::{Call, State, text};
use crate::groups::{
    Departed, Departure, Fault, Heartbeat, Join, JoinReply, Leave, Protocol, ReplyBody, Sync,
    SyncReply,
};

impl State {
    pub(super) fn join(
        &mut self,
        call: &Call<'_>,
        request: JoinGroupRequest,
    ) -> oneshot::Receiver<ReplyBody> {
        let session = millis(request.session_timeout_ms);
        let protocols = request.protocols.into_iter().map(|protocol| Protocol {
            name: protocol.name.to_string(),
            // A copy, because the subscription lives long and would keep the whole request in
            // memory.
            metadata: bytes::Bytes::copy_from_slice(&protocol.metadata),
        });
        let join = Join {
            group: request.group_id.to_string(),
            member_id: request.member_id.to_string(),
            instance_id: owned(request.group_instance_id.as_ref()),
            client_id: call.client_id.to_owned(),
            client_host: format!("/{}", call.caller.peer),
            suffix: self.unique().to_string(),
            session,
            // Version 0 has no separate rebalance timeout.
            rebalance: if call.version == 0 {
                session
            } else {
                millis(request.rebalance_timeout_ms)
            },
            protocol_type: request.protocol_type.to_string(),
            protocols: protocols.collect(),
            needs_known_id: call.version >= 4,
            can_skip_assignment: call.version >= 9,
        };
        let (token, wait) = self.park();
        self.coordinator.handle_join(call.now, token, &join);
        wait
    }

    pub(super) fn sync(
        &mut self,
        call: &Call<'_>,
        request: SyncGroupRequest,
    ) -> oneshot::Receiver<ReplyBody> {
        let assignments = request.assignments.into_iter().map(|share| {
            (share.member_id.to_string(), bytes::Bytes::copy_from_slice(&share.assignment))
        });
        let sync = Sync {
            group: request.group_id.to_string(),
            member_id: request.member_id.to_string(),
            instance_id: owned(request.group_instance_id.as_ref()),
            generation: request.generation_id,
            protocol_type: owned(request.protocol_type.as_ref()),
            protocol: owned(request.protocol_name.as_ref()),
            must_name_protocol: call.version >= 5,
            assignments: assignments.collect(),
        };
        let (token, wait) = self.park();
        self.coordinator.handle_sync(call.now, token, &sync);
        wait
    }

    pub(super) fn heartbeat(
        &mut self,
        call: &Call<'_>,
        request: &HeartbeatRequest,
    ) -> HeartbeatResponse {
        let beat = Heartbeat {
            group: request.group_id.to_string(),
            member_id: request.member_id.to_string(),
            instance_id: owned(request.group_instance_id.as_ref()),
            generation: request.generation_id,
        };
        let outcome = self.coordinator.handle_heartbeat(call.now, &beat);
        HeartbeatResponse::default().with_error_code(code(outcome))
    }

    pub(super) fn leave(
        &mut self,
        call: &Call<'_>,
        request: LeaveGroupRequest,
    ) -> LeaveGroupResponse {
        // Before version 3 a request names one member, and that member's error is the answer's.
        let single = call.version < 3;
        let members = if single {
            vec![Departure { member_id: request.member_id.to_string(), instance_id: None }]
        } else {
            let departures = request.members.into_iter().map(|member| Departure {
                member_id: member.member_id.to_string(),
                instance_id: owned(member.group_instance_id.as_ref()),
            });
            departures.collect()
        };
        let leave = Leave { group: request.group_id.to_string(), members };
        let response = LeaveGroupResponse::default();
        match self.coordinator.handle_leave(call.now, &leave) {
            Err(fault) => response.with_error_code(fault.code()),
            Ok(departed) if single => {
                let outcome = departed.first().map_or(Ok(()), |departed| departed.outcome);
                response.with_error_code(code(outcome))
            }
            Ok(departed) => response.with_members(departed.into_iter().map(describe).collect()),
        }
    }
}

fn describe(departed: Departed) -> MemberResponse {
    MemberResponse::default()
        .with_member_id(text(departed.departure.member_id))
        .with_group_instance_id(departed.departure.instance_id.map(text))
        .with_error_code(code(departed.outcome))
}

/// Converts a join's answer. A field that is not nullable in this version must not be null.
pub(super) fn join_response(version: i16, reply: JoinReply) -> JoinGroupResponse {
    let response = JoinGroupResponse::default().with_member_id(text(reply.member_id));
    match reply.outcome {
        Err(fault) => response
            .with_error_code(fault.code())
            .with_generation_id(-1)
            .with_protocol_type(None)
            .with_protocol_name((version < 7).then(StrBytes::default)),
        Ok(joined) => {
            let members = joined.members.into_iter().map(|member| {
                JoinGroupResponseMember::default()
                    .with_member_id(text(member.member_id))
                    .with_group_instance_id(member.instance_id.map(text))
                    .with_metadata(member.metadata)
            });
            response
                .with_generation_id(joined.generation)
                .with_protocol_type(if version < 7 { None } else { joined.protocol_type.map(text) })
                .with_protocol_name(Some(text(joined.protocol.unwrap_or_default())))
                .with_leader(text(joined.leader))
                .with_skip_assignment(joined.skip_assignment)
                .with_members(members.collect())
        }
    }
}

/// Converts a sync's answer.
pub(super) fn sync_response(reply: SyncReply) -> SyncGroupResponse {
    match reply {
        Err(fault) => SyncGroupResponse::default().with_error_code(fault.code()),
        Ok(synced) => SyncGroupResponse::default()
            .with_protocol_type(synced.protocol_type.map(text))
            .with_protocol_name(synced.protocol.map(text))
            .with_assignment(synced.assignment),
    }
}

/// The error code of an outcome.
pub(super) fn code(outcome: Result<(), Fault>) -> i16 {
    outcome.map_or_else(Fault::code, |()| NONE)
}

pub(super) fn owned(text: Option<&StrBytes>) -> Option<String> {
    text.map(ToString::to_string)
}

/// A negative timeout becomes zero, which is out of every range.
fn millis(ms: i32) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
