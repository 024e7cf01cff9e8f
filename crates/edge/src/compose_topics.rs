//! Composes answers in which each topic, partition, group or key of the request has its own error
//! code. Pure.

use kafka_protocol::messages::fetch_response::{FetchableTopicResponse, PartitionData};
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use kafka_protocol::messages::metadata_response::MetadataResponseTopic;
use kafka_protocol::messages::offset_commit_response::{
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use kafka_protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponseTopic,
};
use kafka_protocol::messages::produce_response::{PartitionProduceResponse, TopicProduceResponse};
use kafka_protocol::messages::{
    BrokerId, FetchRequest, FetchResponse, FindCoordinatorRequest, FindCoordinatorResponse,
    ListOffsetsRequest, ListOffsetsResponse, MetadataRequest, MetadataResponse,
    OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse,
    ProduceRequest, ProduceResponse,
};

pub(super) fn produce(request: ProduceRequest, code: i16) -> ProduceResponse {
    let topics = request.topic_data.into_iter().map(|topic| {
        let partitions = topic.partition_data.iter().map(|partition| {
            PartitionProduceResponse::default()
                .with_index(partition.index)
                .with_error_code(code)
                .with_base_offset(-1)
        });
        TopicProduceResponse::default()
            .with_name(topic.name)
            .with_topic_id(topic.topic_id)
            .with_partition_responses(partitions.collect())
    });
    ProduceResponse::default().with_responses(topics.collect())
}

/// A request within a fetch session names no partition. Its answer has one code for the whole, on
/// which clients start a new session and name all partitions.
pub(super) fn fetch(version: i16, request: FetchRequest, code: i16) -> FetchResponse {
    let whole = if request.topics.is_empty() && version >= 7 { code } else { 0 };
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            PartitionData::default()
                .with_partition_index(partition.partition)
                .with_error_code(code)
                .with_high_watermark(-1)
                .with_records(Some(bytes::Bytes::new()))
        });
        FetchableTopicResponse::default()
            .with_topic(topic.topic)
            .with_topic_id(topic.topic_id)
            .with_partitions(partitions.collect())
    });
    FetchResponse::default().with_error_code(whole).with_responses(topics.collect())
}

pub(super) fn list_offsets(request: ListOffsetsRequest, code: i16) -> ListOffsetsResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            ListOffsetsPartitionResponse::default()
                .with_partition_index(partition.partition_index)
                .with_error_code(code)
        });
        ListOffsetsTopicResponse::default()
            .with_name(topic.name)
            .with_partitions(partitions.collect())
    });
    ListOffsetsResponse::default().with_topics(topics.collect())
}

/// The answer names no brokers, as none are known here; a client keeps those that it knows. For a
/// request for all topics, the code has a place since version 13 only.
pub(super) fn metadata(version: i16, request: MetadataRequest, code: i16) -> MetadataResponse {
    let topics = request.topics.unwrap_or_default().into_iter().map(|topic| {
        // Nullable since version 12.
        let name = topic.name.or_else(|| (version < 12).then(Default::default));
        MetadataResponseTopic::default()
            .with_error_code(code)
            .with_name(name)
            .with_topic_id(topic.topic_id)
    });
    let answer = MetadataResponse::default().with_topics(topics.collect());
    let answer = answer.with_controller_id(BrokerId(-1));
    if version >= 13 { answer.with_error_code(code) } else { answer }
}

pub(super) fn offset_commit(request: OffsetCommitRequest, code: i16) -> OffsetCommitResponse {
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            OffsetCommitResponsePartition::default()
                .with_partition_index(partition.partition_index)
                .with_error_code(code)
        });
        OffsetCommitResponseTopic::default()
            .with_name(topic.name)
            .with_topic_id(topic.topic_id)
            .with_partitions(partitions.collect())
    });
    OffsetCommitResponse::default().with_topics(topics.collect())
}

/// The code is set for each group since version 8, for the whole since version 2, and at each
/// partition before.
pub(super) fn offset_fetch(
    version: i16,
    request: OffsetFetchRequest,
    code: i16,
) -> OffsetFetchResponse {
    let answer = OffsetFetchResponse::default();
    if version >= 8 {
        let groups = request.groups.into_iter().map(|group| {
            OffsetFetchResponseGroup::default().with_group_id(group.group_id).with_error_code(code)
        });
        return answer.with_groups(groups.collect());
    }
    let topics = request.topics.unwrap_or_default().into_iter().map(|topic| {
        let partitions = topic.partition_indexes.iter().map(|partition| {
            OffsetFetchResponsePartition::default()
                .with_partition_index(*partition)
                .with_committed_offset(-1)
                .with_metadata(Some(Default::default()))
                .with_error_code(code)
        });
        OffsetFetchResponseTopic::default()
            .with_name(topic.name)
            .with_partitions(partitions.collect())
    });
    let answer = answer.with_topics(topics.collect());
    if version >= 2 { answer.with_error_code(code) } else { answer }
}

pub(super) fn coordinators(request: FindCoordinatorRequest, code: i16) -> FindCoordinatorResponse {
    let coordinators = request.coordinator_keys.into_iter().map(|key| {
        Coordinator::default()
            .with_key(key)
            .with_node_id(BrokerId(-1))
            .with_port(-1)
            .with_error_code(code)
    });
    FindCoordinatorResponse::default().with_coordinators(coordinators.collect())
}
