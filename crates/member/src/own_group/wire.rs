//! The requests of a group member, as bytes and back.

mod answers;
mod consumer;
mod fences;

use std::collections::BTreeMap;
use std::sync::Once;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, FindCoordinatorRequest, HeartbeatRequest, JoinGroupRequest,
    LeaveGroupRequest, MetadataRequest, OffsetCommitRequest, OffsetFetchRequest, RequestHeader,
    RequestKind, ResponseHeader, ResponseKind, SyncGroupRequest,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use tandem_facts::ids::{ConsumerGroup, PartitionId};
use tandem_neli::membership::{Broker, GroupConfig, Join, Refusal, Request, Response, Sync};

use answers::{departed, joined, led};
pub(super) use consumer::{GROUP, SESSION};

/// The type of every consumer's group.
const CONSUMER: &str = "consumer";
/// The oldest and the newest version of a request that is spoken here: below, a new member's first
/// Join would not be answered with an id, and a commit would have a retention; above,
/// FindCoordinator names several groups, and a commit names its topic by id.
const fn spoken(key: ApiKey) -> Option<(i16, i16)> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else is asked")]
    match key {
        ApiKey::ApiVersions => Some((0, 0)),
        ApiKey::FindCoordinator => Some((1, 3)),
        ApiKey::JoinGroup => Some((4, 9)),
        ApiKey::SyncGroup | ApiKey::LeaveGroup => Some((1, 5)),
        ApiKey::Heartbeat | ApiKey::DescribeConfigs => Some((1, 4)),
        // Version 0 of the first goes on without the frames of SaslAuthenticate; in that of the
        // second the coordinator chooses the member's id.
        ApiKey::SaslHandshake | ApiKey::ConsumerGroupHeartbeat => Some((1, 1)),
        ApiKey::SaslAuthenticate => Some((0, 2)),
        ApiKey::OffsetCommit => Some((5, 9)),
        // From version 8 on it names several groups.
        ApiKey::OffsetFetch => Some((2, 7)),
        // Below, a broker may create the topic.
        ApiKey::Metadata => Some((4, 8)),
        ApiKey::IncrementalAlterConfigs | ApiKey::ConsumerGroupDescribe => Some((0, 1)),
        _ => None,
    }
}

/// The newest versions that a broker speaks.
pub(super) struct Versions(BTreeMap<i16, (i16, i16)>);

impl Versions {
    /// From the answer to ApiVersions.
    pub(super) fn read(answer: Vec<u8>) -> Option<Self> {
        let ResponseKind::ApiVersions(answer) = decode(ApiKey::ApiVersions, 0, answer)? else {
            return None;
        };
        let range = |it: &kafka_protocol::messages::api_versions_response::ApiVersion| {
            (it.api_key, (it.min_version, it.max_version))
        };
        Some(Self(answer.api_keys.iter().map(range).collect()))
    }

    /// The newest version that both sides speak.
    fn common(&self, key: ApiKey) -> Option<i16> {
        let (oldest, newest) = spoken(key)?;
        let (theirs_oldest, theirs_newest) = self.0.get(&number(key)).copied()?;
        let version = newest.min(theirs_newest);
        (version >= oldest.max(theirs_oldest)).then_some(version)
    }
}

/// A request, as bytes.
pub(super) struct Question {
    key: ApiKey,
    version: i16,
    pub(super) frame: Bytes,
}

impl Question {
    /// What the broker answered; none where that makes no sense.
    pub(super) fn answered(&self, answer: Vec<u8>) -> Option<ResponseKind> {
        decode(self.key, self.version, answer)
    }
}

/// Says what the core asks for, for one member of one group.
pub(super) struct Speaker {
    client_id: StrBytes,
    group: StrBytes,
    topic: StrBytes,
    instance: Option<StrBytes>,
    session_ms: i32,
    rebalance_ms: i32,
    /// The assignor of the brokers that the member wants.
    assignor: Option<StrBytes>,
    /// Whether the log says that the group forgets fences with the ledger.
    forgetful: Once,
}

impl Speaker {
    /// One that asks for the settings of a group alone.
    pub(super) fn of_group(client_id: String, group: &ConsumerGroup) -> Self {
        Self {
            client_id: text(client_id),
            group: text(group.to_string()),
            topic: StrBytes::default(),
            instance: None,
            session_ms: 0,
            rebalance_ms: 0,
            assignor: None,
            forgetful: Once::new(),
        }
    }

    /// One for members of the newer protocol, which want this assignor.
    pub(super) fn wanting(self, assignor: String) -> Self {
        Self { assignor: Some(text(assignor)), ..self }
    }

    pub(super) fn new(client_id: String, group: &GroupConfig) -> Self {
        let ms = |span: std::time::Duration| i32::try_from(span.as_millis()).unwrap_or(i32::MAX);
        Self {
            client_id: text(client_id),
            group: text(group.group.to_string()),
            topic: text(group.topic.to_string()),
            instance: group.instance.clone().map(text),
            session_ms: ms(group.session),
            rebalance_ms: ms(group.rebalance),
            assignor: None,
            forgetful: Once::new(),
        }
    }

    /// What is asked first on every connection.
    pub(super) fn which_versions(&self) -> Question {
        let body = RequestKind::ApiVersions(ApiVersionsRequest::default());
        self.encoded(ApiKey::ApiVersions, 0, &body).unwrap_or(Question {
            key: ApiKey::ApiVersions,
            version: 0,
            frame: Bytes::new(),
        })
    }

    /// The request in the newest version that both sides speak; none where there is none.
    pub(super) fn question(&self, request: &Request, versions: &Versions) -> Option<Question> {
        let key = match request {
            Request::FindCoordinator => ApiKey::FindCoordinator,
            Request::Join(_) => ApiKey::JoinGroup,
            Request::Sync(_) => ApiKey::SyncGroup,
            Request::Heartbeat { .. } => ApiKey::Heartbeat,
            Request::Offsets { .. } => ApiKey::OffsetFetch,
            Request::Commit { .. } => ApiKey::OffsetCommit,
            Request::Leaders { .. } => ApiKey::Metadata,
            Request::Leave { .. } => ApiKey::LeaveGroup,
            Request::Beat(_) => ApiKey::ConsumerGroupHeartbeat,
            Request::Session => ApiKey::DescribeConfigs,
            Request::Members => ApiKey::ConsumerGroupDescribe,
        };
        let version = versions.common(key)?;
        self.encoded(key, version, &self.body(request, version))
    }

    /// A request that is not about the group; none where there is no common version.
    pub(super) fn other(
        &self,
        key: ApiKey,
        body: &RequestKind,
        versions: &Versions,
    ) -> Option<Question> {
        self.encoded(key, versions.common(key)?, body)
    }

    /// The answer to a broker that speaks no version that is spoken here.
    pub(super) const fn too_old() -> Response {
        Response::Refused { refusal: Refusal::UnsupportedVersion, member_id: None }
    }

    fn encoded(&self, key: ApiKey, version: i16, body: &RequestKind) -> Option<Question> {
        let header = RequestHeader::default()
            .with_request_api_key(number(key))
            .with_request_api_version(version)
            .with_client_id(Some(self.client_id.clone()));
        let mut frame = BytesMut::new();
        frame.put_i32(0);
        header.encode(&mut frame, key.request_header_version(version)).ok()?;
        body.encode(&mut frame, version).ok()?;
        let length = i32::try_from(frame.len().saturating_sub(4)).ok()?;
        *frame.first_chunk_mut()? = length.to_be_bytes();
        Some(Question { key, version, frame: frame.freeze() })
    }

    fn body(&self, request: &Request, version: i16) -> RequestKind {
        let group = || self.group.clone().into();
        match request {
            Request::FindCoordinator => RequestKind::FindCoordinator(
                FindCoordinatorRequest::default().with_key(self.group.clone()).with_key_type(0),
            ),
            Request::Join(join) => RequestKind::JoinGroup(self.join(join, version)),
            Request::Sync(sync) => RequestKind::SyncGroup(self.sync(sync, version)),
            Request::Heartbeat { member_id, generation } => RequestKind::Heartbeat(
                HeartbeatRequest::default()
                    .with_group_id(group())
                    .with_member_id(text(member_id.clone()))
                    .with_generation_id(*generation)
                    .with_group_instance_id(self.instance.clone().filter(|_| version >= 3)),
            ),
            Request::Offsets { partitions, .. } => RequestKind::OffsetFetch(
                OffsetFetchRequest::default()
                    .with_group_id(group())
                    .with_topics(Some(self.asked(partitions))),
            ),
            Request::Commit { member_id, generation, offsets } => RequestKind::OffsetCommit(
                OffsetCommitRequest::default()
                    .with_group_id(group())
                    .with_member_id(text(member_id.clone()))
                    .with_generation_id_or_member_epoch(*generation)
                    .with_group_instance_id(self.instance.clone().filter(|_| version >= 7))
                    .with_topics(self.committed(offsets)),
            ),
            Request::Leaders { .. } => {
                let topic = MetadataRequestTopic::default();
                let topic = topic.with_name(Some(self.topic.clone().into()));
                let metadata = MetadataRequest::default().with_topics(Some(vec![topic]));
                RequestKind::Metadata(metadata.with_allow_auto_topic_creation(false))
            }
            Request::Beat(beat) => RequestKind::ConsumerGroupHeartbeat(self.beat(beat)),
            Request::Session => RequestKind::DescribeConfigs(self.session()),
            Request::Members => RequestKind::ConsumerGroupDescribe(self.members()),
            Request::Leave { member_id } if version >= 3 => {
                let member = MemberIdentity::default()
                    .with_member_id(text(member_id.clone()))
                    .with_group_instance_id(self.instance.clone());
                let leave = LeaveGroupRequest::default().with_group_id(group());
                RequestKind::LeaveGroup(leave.with_members(vec![member]))
            }
            Request::Leave { member_id } => RequestKind::LeaveGroup(
                LeaveGroupRequest::default()
                    .with_group_id(group())
                    .with_member_id(text(member_id.clone())),
            ),
        }
    }

    fn join(&self, join: &Join, version: i16) -> JoinGroupRequest {
        let protocol = |(name, metadata): &(&str, Vec<u8>)| {
            JoinGroupRequestProtocol::default()
                .with_name(text((*name).to_owned()))
                .with_metadata(Bytes::copy_from_slice(metadata))
        };
        JoinGroupRequest::default()
            .with_group_id(self.group.clone().into())
            .with_member_id(text(join.member_id.clone()))
            .with_group_instance_id(self.instance.clone().filter(|_| version >= 5))
            .with_session_timeout_ms(self.session_ms)
            .with_rebalance_timeout_ms(self.rebalance_ms)
            .with_protocol_type(StrBytes::from_static_str(CONSUMER))
            .with_protocols(join.protocols.iter().map(protocol).collect())
    }

    fn sync(&self, sync: &Sync, version: i16) -> SyncGroupRequest {
        let share = |(id, share): &(String, Vec<u8>)| {
            SyncGroupRequestAssignment::default()
                .with_member_id(text(id.clone()))
                .with_assignment(Bytes::copy_from_slice(share))
        };
        let named = version >= 5;
        SyncGroupRequest::default()
            .with_group_id(self.group.clone().into())
            .with_member_id(text(sync.member_id.clone()))
            .with_group_instance_id(self.instance.clone().filter(|_| version >= 3))
            .with_generation_id(sync.generation)
            .with_protocol_type(named.then(|| StrBytes::from_static_str(CONSUMER)))
            .with_protocol_name(named.then(|| StrBytes::from_static_str(sync.protocol)))
            .with_assignments(sync.assignments.iter().map(share).collect())
    }

    /// What the broker answered; none where that makes no sense.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else was asked")]
    pub(super) fn response(&self, question: &Question, answer: Vec<u8>) -> Option<Response> {
        match question.answered(answer)? {
            ResponseKind::FindCoordinator(it) => Some(match refused(it.error_code) {
                Some(refusal) => refusal,
                None => Response::Coordinator(Broker {
                    id: it.node_id.0,
                    host: it.host.to_string(),
                    port: u16::try_from(it.port).ok()?,
                }),
            }),
            ResponseKind::JoinGroup(it) => Some(joined(it)),
            ResponseKind::SyncGroup(it) => Some(
                refused(it.error_code).unwrap_or_else(|| Response::Synced(it.assignment.to_vec())),
            ),
            ResponseKind::Heartbeat(it) => Some(refused(it.error_code).unwrap_or(Response::Done)),
            ResponseKind::OffsetFetch(it) => self.offsets(&it),
            ResponseKind::OffsetCommit(it) => self.acknowledged(&it),
            ResponseKind::Metadata(it) => Some(led(&it)),
            ResponseKind::LeaveGroup(it) => Some(departed(&it)),
            ResponseKind::ConsumerGroupHeartbeat(it) => Some(consumer::beaten(it)),
            ResponseKind::DescribeConfigs(it) => consumer::session(&it),
            ResponseKind::ConsumerGroupDescribe(it) => consumer::members(&it),
            _ => None,
        }
    }
}

fn refused(code: i16) -> Option<Response> {
    let refusal = Refusal::from_code(code)?;
    Some(Response::Refused { refusal, member_id: None })
}

/// The number of a partition on the wire.
fn index(partition: PartitionId) -> i32 {
    i32::try_from(partition.0).unwrap_or(i32::MAX)
}

fn decode(key: ApiKey, version: i16, answer: Vec<u8>) -> Option<ResponseKind> {
    let mut answer = Bytes::from(answer);
    ResponseHeader::decode(&mut answer, key.response_header_version(version)).ok()?;
    ResponseKind::decode(key, &mut answer, version).ok()
}

fn text(text: String) -> StrBytes {
    StrBytes::from_string(text)
}

/// The number of a request on the wire.
#[expect(clippy::as_conversions, reason = "the enum is defined by these numbers")]
const fn number(key: ApiKey) -> i16 {
    key as i16
}
