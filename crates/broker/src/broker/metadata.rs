//! Metadata, FindCoordinator, DescribeCluster: this broker is the answer to each.

use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::{
    BrokerId, DescribeClusterRequest, DescribeClusterResponse, FindCoordinatorRequest,
    FindCoordinatorResponse, MetadataRequest, MetadataResponse,
};

use super::advertised::Advertised;
use super::error::{
    INVALID_TOPIC, NONE, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, UNSUPPORTED_VERSION,
};
use super::state::{Call, NODE, State, text};
use super::topic::Topic;
use tandem_facts::ids::TopicName;

/// Kafka's value for authorized operations that were not requested (KIP-430).
const NO_OPERATIONS: i32 = i32::MIN;

impl State {
    pub(super) fn metadata(
        &mut self,
        call: &Call<'_>,
        request: &MetadataRequest,
    ) -> MetadataResponse {
        // The field exists since version 4; before, every client wants it.
        if request.allow_auto_topic_creation || call.version < 4 {
            let named = request.topics.iter().flatten().filter(|topic| topic.topic_id.is_nil());
            let names = named.filter_map(|topic| topic.name.as_deref());
            names.for_each(|name| self.auto_create(call, name));
        }
        // In version 0 an empty list requests all topics; since version 1 null does.
        let requested =
            request.topics.as_deref().filter(|list| call.version > 0 || !list.is_empty());
        let topics = match requested {
            None => self.topics.iter().map(|(name, topic)| found(name, topic)).collect(),
            Some(list) => list
                .iter()
                // Java's client sends an empty name beside an id.
                .map(|requested| match &requested.name {
                    Some(name) if requested.topic_id.is_nil() => self.by_name(name.as_str()),
                    Some(_) | None => self.by_id(requested.topic_id),
                })
                .collect(),
        };
        let (host, port) = place(call);
        let broker = MetadataResponseBroker::default()
            .with_node_id(BrokerId(NODE))
            .with_host(text(host))
            .with_port(port);
        MetadataResponse::default()
            .with_brokers(vec![broker])
            .with_cluster_id(Some(text(self.cluster_id.as_str())))
            .with_controller_id(BrokerId(NODE))
            .with_cluster_authorized_operations(NO_OPERATIONS)
            .with_topics(topics)
    }

    fn by_name(&self, name: &str) -> MetadataResponseTopic {
        let missing = if name.parse::<TopicName>().is_ok() {
            UNKNOWN_TOPIC_OR_PARTITION
        } else {
            INVALID_TOPIC
        };
        self.topics.get(name).map_or_else(
            || unknown(missing).with_name(Some(text(name).into())),
            |topic| found(name, topic),
        )
    }

    fn by_id(&self, id: uuid::Uuid) -> MetadataResponseTopic {
        self.topics.by_id(id).map_or_else(
            || unknown(UNKNOWN_TOPIC_ID).with_topic_id(id).with_name(None),
            |(name, topic)| found(name, topic),
        )
    }

    pub(super) fn describe_cluster(
        &self,
        call: &Call<'_>,
        request: &DescribeClusterRequest,
    ) -> DescribeClusterResponse {
        let (host, port) = place(call);
        let broker = DescribeClusterBroker::default()
            .with_broker_id(BrokerId(NODE))
            .with_host(text(host))
            .with_port(port);
        DescribeClusterResponse::default()
            .with_endpoint_type(request.endpoint_type)
            .with_cluster_id(text(self.cluster_id.as_str()))
            .with_controller_id(BrokerId(NODE))
            .with_cluster_authorized_operations(NO_OPERATIONS)
            .with_brokers(vec![broker])
    }
}

/// This broker coordinates all groups; there are no transactions.
pub(super) fn find(call: &Call<'_>, request: &FindCoordinatorRequest) -> FindCoordinatorResponse {
    let error = if request.key_type == 0 { NONE } else { UNSUPPORTED_VERSION };
    let (host, port) = if error == NONE { place(call) } else { (String::new(), -1) };
    let node = BrokerId(if error == NONE { NODE } else { -1 });
    if call.version < 4 {
        return FindCoordinatorResponse::default()
            .with_error_code(error)
            .with_node_id(node)
            .with_host(text(host))
            .with_port(port);
    }
    let each = request.coordinator_keys.iter().map(|key| {
        Coordinator::default()
            .with_key(key.clone())
            .with_error_code(error)
            .with_node_id(node)
            .with_host(text(host.as_str()))
            .with_port(port)
    });
    FindCoordinatorResponse::default().with_coordinators(each.collect())
}

/// The broker's address as this client is to use it.
fn place(call: &Call<'_>) -> (String, i32) {
    let Advertised { host, port } = &call.caller.place;
    (host.clone(), i32::from(*port))
}

fn found(name: &str, topic: &Topic) -> MetadataResponseTopic {
    let partitions = (0..topic.width()).map(|partition| {
        MetadataResponsePartition::default()
            .with_partition_index(partition)
            .with_leader_id(BrokerId(NODE))
            .with_leader_epoch(0)
            .with_replica_nodes(vec![BrokerId(NODE)])
            .with_isr_nodes(vec![BrokerId(NODE)])
    });
    MetadataResponseTopic::default()
        .with_name(Some(text(name).into()))
        .with_topic_id(topic.id)
        .with_topic_authorized_operations(NO_OPERATIONS)
        .with_partitions(partitions.collect())
}

fn unknown(error: i16) -> MetadataResponseTopic {
    MetadataResponseTopic::default()
        .with_error_code(error)
        .with_topic_authorized_operations(NO_OPERATIONS)
}
