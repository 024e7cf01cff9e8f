//! A sample of every request that is spoken, in every version.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::delete_records_request::{
    DeleteRecordsPartition, DeleteRecordsTopic,
};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_log_dirs_request::DescribableLogDirTopic;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest,
    CreatePartitionsRequest, CreateTopicsRequest, DeleteGroupsRequest, DeleteRecordsRequest,
    DeleteTopicsRequest, DescribeClusterRequest, DescribeConfigsRequest, DescribeGroupsRequest,
    DescribeLogDirsRequest, FetchRequest, FindCoordinatorRequest, GroupId, HeartbeatRequest,
    IncrementalAlterConfigsRequest, InitProducerIdRequest, JoinGroupRequest, LeaveGroupRequest,
    ListGroupsRequest, ListOffsetsRequest, MetadataRequest, OffsetCommitRequest,
    OffsetFetchRequest, ProduceRequest, RequestHeader, RequestKind, SyncGroupRequest, TopicName,
};
use kafka_protocol::protocol::{Encodable, StrBytes};
use tandem::wire::number;

fn text(text: &'static str) -> StrBytes {
    StrBytes::from_static_str(text)
}

fn topic() -> TopicName {
    TopicName(text("ledger"))
}

fn group() -> GroupId {
    GroupId(text("g"))
}

/// A request with something in every array.
#[expect(clippy::wildcard_enum_match_arm, reason = "Kafka has four times as many as are spoken")]
pub fn sample(key: ApiKey, version: i16) -> Option<RequestKind> {
    Some(match key {
        ApiKey::Produce => {
            let data = PartitionProduceData::default()
                .with_index(3)
                .with_records(Some(Bytes::from_static(b"opaque")));
            let topic =
                TopicProduceData::default().with_name(topic()).with_partition_data(vec![data]);
            RequestKind::Produce(
                ProduceRequest::default().with_acks(-1).with_topic_data(vec![topic]),
            )
        }
        ApiKey::Fetch => {
            let partitions = vec![FetchPartition::default().with_fetch_offset(9); 2];
            let named = FetchTopic::default().with_partitions(partitions);
            let topic = if version < 13 {
                named.with_topic(topic())
            } else {
                named.with_topic_id(uuid::Uuid::from_u128(7))
            };
            RequestKind::Fetch(FetchRequest::default().with_topics(vec![topic]))
        }
        ApiKey::ListOffsets => {
            let partitions = vec![ListOffsetsPartition::default().with_timestamp(-1)];
            let topic = ListOffsetsTopic::default().with_name(topic()).with_partitions(partitions);
            RequestKind::ListOffsets(ListOffsetsRequest::default().with_topics(vec![topic]))
        }
        ApiKey::Metadata => {
            let topics = vec![MetadataRequestTopic::default().with_name(Some(topic()))];
            RequestKind::Metadata(MetadataRequest::default().with_topics(Some(topics)))
        }
        ApiKey::OffsetCommit => {
            let position = OffsetCommitRequestPartition::default().with_committed_offset(5);
            let topic = OffsetCommitRequestTopic::default()
                .with_name(topic())
                .with_partitions(vec![position]);
            let commit = OffsetCommitRequest::default().with_group_id(group());
            RequestKind::OffsetCommit(commit.with_topics(vec![topic]))
        }
        ApiKey::OffsetFetch if version < 8 => {
            let topic = OffsetFetchRequestTopic::default()
                .with_name(topic())
                .with_partition_indexes(vec![0, 1]);
            let fetch = OffsetFetchRequest::default().with_group_id(group());
            RequestKind::OffsetFetch(fetch.with_topics(Some(vec![topic])))
        }
        ApiKey::OffsetFetch => {
            let topic = OffsetFetchRequestTopics::default()
                .with_name(topic())
                .with_partition_indexes(vec![0, 1]);
            let group = OffsetFetchRequestGroup::default()
                .with_group_id(group())
                .with_topics(Some(vec![topic]));
            RequestKind::OffsetFetch(OffsetFetchRequest::default().with_groups(vec![group]))
        }
        other => {
            let groups = || small(other, version).or_else(|| consumer(other, version));
            return groups().or_else(|| admin(other, version));
        }
    })
}

/// The rest: groups, and what hardly says anything.
#[expect(clippy::wildcard_enum_match_arm, reason = "Kafka has four times as many as are spoken")]
fn small(key: ApiKey, version: i16) -> Option<RequestKind> {
    Some(match key {
        ApiKey::FindCoordinator => {
            let find = FindCoordinatorRequest::default();
            RequestKind::FindCoordinator(if version < 4 {
                find.with_key(text("g"))
            } else {
                find.with_coordinator_keys(vec![text("g"), text("h")])
            })
        }
        ApiKey::JoinGroup => {
            let protocol = JoinGroupRequestProtocol::default()
                .with_name(text("range"))
                .with_metadata(Bytes::from_static(b"topics"));
            RequestKind::JoinGroup(
                JoinGroupRequest::default()
                    .with_group_id(group())
                    .with_session_timeout_ms(1_000)
                    .with_protocol_type(text("consumer"))
                    .with_protocols(vec![protocol]),
            )
        }
        ApiKey::Heartbeat => {
            RequestKind::Heartbeat(HeartbeatRequest::default().with_group_id(group()))
        }
        ApiKey::LeaveGroup => {
            let leave = LeaveGroupRequest::default().with_group_id(group());
            RequestKind::LeaveGroup(if version < 3 {
                leave.with_member_id(text("m"))
            } else {
                leave.with_members(vec![MemberIdentity::default().with_member_id(text("m"))])
            })
        }
        ApiKey::SyncGroup => {
            let share = SyncGroupRequestAssignment::default()
                .with_member_id(text("m"))
                .with_assignment(Bytes::from_static(b"all"));
            RequestKind::SyncGroup(
                SyncGroupRequest::default().with_group_id(group()).with_assignments(vec![share]),
            )
        }
        ApiKey::DescribeGroups => {
            RequestKind::DescribeGroups(DescribeGroupsRequest::default().with_groups(vec![group()]))
        }
        ApiKey::ListGroups => RequestKind::ListGroups(ListGroupsRequest::default()),
        ApiKey::ApiVersions => RequestKind::ApiVersions(ApiVersionsRequest::default()),
        ApiKey::InitProducerId => RequestKind::InitProducerId(InitProducerIdRequest::default()),
        ApiKey::DeleteGroups => RequestKind::DeleteGroups(
            DeleteGroupsRequest::default().with_groups_names(vec![group()]),
        ),
        ApiKey::DescribeCluster => RequestKind::DescribeCluster(DescribeClusterRequest::default()),
        _ => return None,
    })
}

/// Groups of the newer protocol.
#[expect(clippy::wildcard_enum_match_arm, reason = "Kafka has four times as many as are spoken")]
fn consumer(key: ApiKey, version: i16) -> Option<RequestKind> {
    Some(match key {
        ApiKey::ConsumerGroupHeartbeat => {
            let owned = TopicPartitions::default()
                .with_topic_id(uuid::Uuid::from_u128(7))
                .with_partitions(vec![0, 1]);
            let beat = ConsumerGroupHeartbeatRequest::default()
                .with_group_id(group())
                .with_member_id(text("m"))
                .with_member_epoch(3)
                .with_instance_id(Some(text("i")))
                .with_rack_id(Some(text("r")))
                .with_rebalance_timeout_ms(1_000)
                .with_subscribed_topic_names(Some(vec![topic()]))
                .with_server_assignor(Some(text("range")))
                .with_topic_partitions(Some(vec![owned]));
            RequestKind::ConsumerGroupHeartbeat(if version < 1 {
                beat
            } else {
                beat.with_subscribed_topic_regex(Some(text("led.*")))
            })
        }
        ApiKey::ConsumerGroupDescribe => {
            let describe = ConsumerGroupDescribeRequest::default().with_group_ids(vec![group()]);
            RequestKind::ConsumerGroupDescribe(describe)
        }
        _ => return None,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "Kafka has four times as many as are spoken")]
fn admin(key: ApiKey, version: i16) -> Option<RequestKind> {
    Some(match key {
        ApiKey::CreateTopics => {
            let config =
                CreatableTopicConfig::default().with_name(text("a")).with_value(Some(text("b")));
            let topic = CreatableTopic::default()
                .with_name(topic())
                .with_num_partitions(4)
                .with_configs(vec![config]);
            RequestKind::CreateTopics(CreateTopicsRequest::default().with_topics(vec![topic]))
        }
        ApiKey::CreatePartitions => {
            let topic = CreatePartitionsTopic::default()
                .with_name(topic())
                .with_count(5)
                .with_assignments(None);
            RequestKind::CreatePartitions(
                CreatePartitionsRequest::default().with_topics(vec![topic]),
            )
        }
        ApiKey::DeleteTopics => {
            let delete = DeleteTopicsRequest::default();
            RequestKind::DeleteTopics(if version < 6 {
                delete.with_topic_names(vec![topic()])
            } else {
                delete.with_topics(vec![DeleteTopicState::default().with_name(Some(topic()))])
            })
        }
        ApiKey::DescribeConfigs => {
            let resource = DescribeConfigsResource::default()
                .with_resource_type(2)
                .with_resource_name(text("ledger"))
                .with_configuration_keys(Some(vec![text("retention.ms")]));
            RequestKind::DescribeConfigs(
                DescribeConfigsRequest::default().with_resources(vec![resource]),
            )
        }
        ApiKey::DeleteRecords => {
            let partition = DeleteRecordsPartition::default().with_offset(-1);
            let topic =
                DeleteRecordsTopic::default().with_name(topic()).with_partitions(vec![partition]);
            RequestKind::DeleteRecords(DeleteRecordsRequest::default().with_topics(vec![topic]))
        }
        ApiKey::DescribeLogDirs => {
            let topic = DescribableLogDirTopic::default().with_topic(topic());
            let request = DescribeLogDirsRequest::default();
            RequestKind::DescribeLogDirs(
                request.with_topics(Some(vec![topic.with_partitions(vec![0, 1])])),
            )
        }
        ApiKey::IncrementalAlterConfigs => {
            let change = AlterableConfig::default()
                .with_name(text("retention.ms"))
                .with_value(Some(text("1000")));
            let resource = AlterConfigsResource::default()
                .with_resource_type(2)
                .with_resource_name(text("ledger"))
                .with_configs(vec![change]);
            RequestKind::IncrementalAlterConfigs(
                IncrementalAlterConfigsRequest::default().with_resources(vec![resource]),
            )
        }
        _ => return None,
    })
}

/// A request and its frame.
pub fn written(key: ApiKey, version: i16) -> (RequestKind, Bytes) {
    let body = sample(key, version).unwrap();
    let bytes = framed(&body, key, version);
    (body, bytes)
}

/// The frame that holds this request, without its length; number 7, from `p1-1.1`.
pub fn framed(body: &RequestKind, key: ApiKey, version: i16) -> Bytes {
    let mut bytes = BytesMut::new();
    RequestHeader::default()
        .with_request_api_key(number(key))
        .with_request_api_version(version)
        .with_correlation_id(7)
        .with_client_id(Some(text("p1-1.1")))
        .encode(&mut bytes, key.request_header_version(version))
        .unwrap();
    body.encode(&mut bytes, version).unwrap();
    bytes.freeze()
}
