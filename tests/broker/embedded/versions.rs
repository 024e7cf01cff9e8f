//! The broker in every version that it advertises: it answers every request with a readable
//! response, and members with any client version can join, work and leave.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    ApiKey, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest,
    OffsetCommitRequest, RequestHeader, RequestKind, ResponseHeader, ResponseKind,
    SyncGroupRequest,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use tandem::wire::{SUPPORTED, number, supported};

use crate::embedded::support::{PATIENCE, Running};
use support::samples;

/// A client without a library.
pub(crate) struct Raw(TcpStream);

impl Raw {
    pub(crate) fn connect(broker: &Running) -> Self {
        let stream = TcpStream::connect(broker.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(stream)
    }

    pub(crate) fn send(&mut self, frame: &[u8]) {
        self.try_send(frame).unwrap();
    }

    pub(crate) fn try_send(&mut self, frame: &[u8]) -> io::Result<()> {
        let length = u32::try_from(frame.len()).unwrap().to_be_bytes();
        self.0.write_all(&[&length[..], frame].concat())
    }

    /// Whether anything comes back.
    pub(crate) fn is_answered(&mut self) -> bool {
        self.0.read_exact(&mut [0; 4]).is_ok()
    }

    pub(crate) fn receive(&mut self, key: ApiKey, version: i16) -> ResponseKind {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).unwrap();
        let mut frame = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap()];
        self.0.read_exact(&mut frame).unwrap();
        let mut frame = Bytes::from(frame);
        let header = key.response_header_version(version);
        assert_eq!(ResponseHeader::decode(&mut frame, header).unwrap().correlation_id, 7);
        let body = ResponseKind::decode(key, &mut frame, version).unwrap();
        assert!(frame.is_empty(), "{key:?} {version}: {} bytes too many", frame.len());
        body
    }

    /// In the given version, or the newest that there is.
    pub(crate) fn ask(&mut self, key: ApiKey, version: i16, body: &RequestKind) -> ResponseKind {
        let api = supported(number(key)).unwrap();
        let version = version.clamp(api.min, api.max);
        let mut frame = BytesMut::new();
        RequestHeader::default()
            .with_request_api_key(number(key))
            .with_request_api_version(version)
            .with_correlation_id(7)
            .with_client_id(Some(text("raw")))
            .encode(&mut frame, key.request_header_version(version))
            .unwrap();
        body.encode(&mut frame, version).unwrap();
        self.send(&frame);
        self.receive(key, version)
    }
}

pub(crate) fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

#[test]
fn every_version_is_answered() {
    let broker = Running::start();
    broker.topic("ledger", 4);
    let mut raw = Raw::connect(&broker);
    for api in SUPPORTED {
        for version in api.min..=api.max {
            let (_, frame) = samples::written(api.key, version);
            raw.send(&frame);
            drop(raw.receive(api.key, version));
        }
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let broker = Running::start();
    let mut raw = Raw::connect(&broker);
    let keys = [ApiKey::Metadata, ApiKey::ListGroups, ApiKey::ApiVersions, ApiKey::Metadata];
    for key in keys {
        raw.send(&samples::written(key, 1).1);
    }
    for key in keys {
        drop(raw.receive(key, 1));
    }
}

#[test]
fn a_member_of_any_age_can_work() {
    let broker = Running::start();
    broker.topic("ledger", 1);
    for version in 0..=9 {
        let mut raw = Raw::connect(&broker);
        let group = text(&format!("g{version}"));
        let joined = join(&mut raw, &group, version, 60_000);
        let (member, generation) = (joined.member_id, joined.generation_id);
        assert_eq!((joined.error_code, joined.leader.clone()), (0, member.clone()), "{version}");
        let metadata = joined.members.first().unwrap().metadata.clone();
        assert_eq!(metadata, Bytes::from_static(b"ledger"));

        let share = SyncGroupRequestAssignment::default()
            .with_member_id(member.clone())
            .with_assignment(Bytes::from_static(b"0"));
        let sync = SyncGroupRequest::default()
            .with_group_id(group.clone().into())
            .with_member_id(member.clone())
            .with_generation_id(generation)
            .with_protocol_type((version >= 5).then(|| text("consumer")))
            .with_protocol_name((version >= 5).then(|| text("range")))
            .with_assignments(vec![share]);
        let synced = raw.ask(ApiKey::SyncGroup, version, &RequestKind::SyncGroup(sync));
        let ResponseKind::SyncGroup(synced) = synced else { unreachable!() };
        assert_eq!((synced.error_code, synced.assignment), (0, Bytes::from_static(b"0")));

        let mut beat = |generation| {
            let beat = HeartbeatRequest::default()
                .with_group_id(group.clone().into())
                .with_member_id(member.clone())
                .with_generation_id(generation);
            let answer = raw.ask(ApiKey::Heartbeat, version, &RequestKind::Heartbeat(beat));
            let ResponseKind::Heartbeat(answer) = answer else { unreachable!() };
            answer.error_code
        };
        assert_eq!((beat(generation), beat(generation + 1)), (0, 22));
        assert_eq!(commit(&mut raw, &group, &member, generation, version), [0, 3]);
        assert_eq!(leave(&mut raw, &group, &member, version), 0);
        assert_eq!(leave(&mut raw, &group, &member, version), 25);
    }
}

/// Joins, twice where the broker wants that (KIP-394).
pub(crate) fn join(
    raw: &mut Raw,
    group: &StrBytes,
    version: i16,
    session_ms: i32,
) -> JoinGroupResponse {
    let mut member = text("");
    loop {
        let protocol = JoinGroupRequestProtocol::default()
            .with_name(text("range"))
            .with_metadata(Bytes::from_static(b"ledger"));
        let join = JoinGroupRequest::default()
            .with_group_id(group.clone().into())
            .with_member_id(member)
            .with_session_timeout_ms(session_ms)
            .with_rebalance_timeout_ms(if version == 0 { -1 } else { 10_000 })
            .with_protocol_type(text("consumer"))
            .with_protocols(vec![protocol]);
        let answer = raw.ask(ApiKey::JoinGroup, version, &RequestKind::JoinGroup(join));
        let ResponseKind::JoinGroup(answer) = answer else { unreachable!() };
        assert!(answer.member_id.starts_with("raw-"), "{}", answer.member_id);
        if answer.error_code != 79 {
            return answer;
        }
        assert!(version >= 4);
        member = answer.member_id;
    }
}

/// Commits an offset on a partition that exists and on one that does not.
fn commit(
    raw: &mut Raw,
    group: &StrBytes,
    member: &StrBytes,
    generation: i32,
    version: i16,
) -> Vec<i16> {
    let position = |partition| {
        OffsetCommitRequestPartition::default()
            .with_partition_index(partition)
            .with_committed_offset(5)
    };
    let topic = OffsetCommitRequestTopic::default()
        .with_name(text("ledger").into())
        .with_partitions(vec![position(0), position(1)]);
    let commit = OffsetCommitRequest::default()
        .with_group_id(group.clone().into())
        .with_member_id(member.clone())
        .with_generation_id_or_member_epoch(generation)
        .with_topics(vec![topic]);
    let answer = raw.ask(ApiKey::OffsetCommit, version, &RequestKind::OffsetCommit(commit));
    let ResponseKind::OffsetCommit(answer) = answer else { unreachable!() };
    answer.topics.iter().flat_map(|topic| &topic.partitions).map(|p| p.error_code).collect()
}

/// Leaves; the error is the answer's before version 3, the member's since.
fn leave(raw: &mut Raw, group: &StrBytes, member: &StrBytes, version: i16) -> i16 {
    let leave = LeaveGroupRequest::default().with_group_id(group.clone().into());
    let leave = if version < 3 {
        leave.with_member_id(member.clone())
    } else {
        leave.with_members(vec![MemberIdentity::default().with_member_id(member.clone())])
    };
    let answer = raw.ask(ApiKey::LeaveGroup, version, &RequestKind::LeaveGroup(leave));
    let ResponseKind::LeaveGroup(answer) = answer else { unreachable!() };
    answer.members.first().map_or(answer.error_code, |member| member.error_code)
}
