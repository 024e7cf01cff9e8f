//! Answers that name brokers, as a broker would give them.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;
use kafka_protocol::messages::fetch_response::{
    FetchableTopicResponse, NodeEndpoint as FetchEndpoint, PartitionData,
};
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::metadata_response::{MetadataResponseBroker, MetadataResponseTopic};
use kafka_protocol::messages::produce_response::{
    NodeEndpoint as ProduceEndpoint, PartitionProduceResponse, TopicProduceResponse,
};
use kafka_protocol::messages::share_acknowledge_response::NodeEndpoint as AcknowledgeEndpoint;
use kafka_protocol::messages::share_fetch_response::NodeEndpoint as ShareEndpoint;
use kafka_protocol::messages::{
    ApiKey, BrokerId, DescribeClusterResponse, FetchResponse, FindCoordinatorResponse,
    MetadataResponse, ProduceResponse, ResponseHeader, ResponseKind, ShareAcknowledgeResponse,
    ShareFetchResponse,
};
use kafka_protocol::protocol::{Encodable, StrBytes};
use tandem::wire::{Naming, naming, number};

pub type Brokers = Vec<(i32, String, u16)>;

pub const KEYS: [ApiKey; 7] = [
    ApiKey::Metadata,
    ApiKey::FindCoordinator,
    ApiKey::DescribeCluster,
    ApiKey::Produce,
    ApiKey::Fetch,
    ApiKey::ShareFetch,
    ApiKey::ShareAcknowledge,
];

pub fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

/// An answer that names these brokers, and says more around them.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other names any")]
pub fn answer(key: ApiKey, version: i16, brokers: &Brokers) -> ResponseKind {
    use ResponseKind as Say;
    let rack = || Some(text("r\u{e4}ck"));
    macro_rules! each {
        ($type:ident, $id:ident) => {
            brokers.iter().map(|(id, host, port)| {
                let port = i32::from(*port);
                $type::default().$id(BrokerId(*id)).with_host(text(host)).with_port(port)
            })
        };
    }
    match key {
        ApiKey::Metadata => {
            let brokers = each!(MetadataResponseBroker, with_node_id);
            let with_rack = |broker: MetadataResponseBroker| match version {
                0 => broker,
                _ => broker.with_rack(rack()),
            };
            let topic = MetadataResponseTopic::default().with_name(Some(text("t").into()));
            let said = MetadataResponse::default().with_topics(vec![topic; 3]);
            Say::Metadata(said.with_brokers(brokers.map(with_rack).collect()))
        }
        ApiKey::FindCoordinator if version < 4 => {
            let said = FindCoordinatorResponse::default().with_error_code(15);
            Say::FindCoordinator(brokers.first().map_or(said.clone(), |(id, host, port)| {
                let said = said.with_node_id(BrokerId(*id)).with_host(text(host));
                said.with_port(i32::from(*port))
            }))
        }
        ApiKey::FindCoordinator => {
            let each = each!(Coordinator, with_node_id).map(|one| one.with_key(text("g")));
            Say::FindCoordinator(
                FindCoordinatorResponse::default().with_coordinators(each.collect()),
            )
        }
        ApiKey::DescribeCluster => {
            let each =
                each!(DescribeClusterBroker, with_broker_id).map(|one| one.with_rack(rack()));
            let said = DescribeClusterResponse::default().with_cluster_id(text("c"));
            Say::DescribeCluster(said.with_brokers(each.collect()))
        }
        ApiKey::Produce => {
            let parts = vec![PartitionProduceResponse::default().with_error_code(6); 2];
            let mut topic = TopicProduceResponse::default().with_partition_responses(parts);
            if version < 13 {
                topic.name = text("t").into();
            }
            let each = each!(ProduceEndpoint, with_node_id).map(|one| one.with_rack(rack()));
            let said = ProduceResponse::default().with_responses(vec![topic]);
            Say::Produce(said.with_node_endpoints(each.collect()))
        }
        ApiKey::Fetch => {
            let records = Some(Bytes::from(vec![0xff; 300]));
            let part = PartitionData::default().with_records(records).with_high_watermark(9);
            let topic = FetchableTopicResponse::default().with_partitions(vec![part; 3]);
            let each = each!(FetchEndpoint, with_node_id).map(|one| one.with_rack(rack()));
            let said = FetchResponse::default().with_responses(vec![topic; 2]);
            Say::Fetch(said.with_node_endpoints(each.collect()))
        }
        ApiKey::ShareFetch => {
            let each = each!(ShareEndpoint, with_node_id).map(|one| one.with_rack(rack()));
            Say::ShareFetch(ShareFetchResponse::default().with_node_endpoints(each.collect()))
        }
        ApiKey::ShareAcknowledge => {
            let each = each!(AcknowledgeEndpoint, with_node_id).map(|one| one.with_rack(rack()));
            let said = ShareAcknowledgeResponse::default();
            Say::ShareAcknowledge(said.with_node_endpoints(each.collect()))
        }
        other => panic!("{other:?}"),
    }
}

pub fn written(key: ApiKey, version: i16, body: &ResponseKind) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    let header = ResponseHeader::default().with_correlation_id(7);
    header.encode(&mut bytes, key.response_header_version(version)).unwrap();
    body.encode(&mut bytes, version).unwrap();
    bytes.to_vec()
}

/// All versions in which an answer names brokers.
pub fn naming_versions() -> Vec<(ApiKey, i16)> {
    let versions = |key: ApiKey| {
        let range = key.valid_versions();
        (range.min..=range.max).map(move |version| (key, version))
    };
    let known = |(key, version): &(ApiKey, i16)| naming(number(*key), *version) == Naming::Known;
    KEYS.into_iter().flat_map(versions).filter(known).collect()
}
