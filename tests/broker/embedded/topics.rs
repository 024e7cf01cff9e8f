//! Topics: by id, created when a client names them, compacted, and their settings changed.

use std::num::NonZeroU32;
use std::time::Duration;

use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, FetchRequest, FetchResponse, InitProducerIdRequest,
    MetadataRequest, RequestKind, ResponseKind,
};
use rdkafka::admin::{NewTopic, TopicReplication};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseRecord, Producer, ThreadedProducer};
use tandem::broker::BrokerSettings;
use uuid::Uuid;

use crate::embedded::support::{PATIENCE, Running, eventually, send};
use crate::embedded::versions::{Raw, text};

const UNKNOWN_TOPIC_ID: i16 = 100;

/// The id of a topic, as Metadata has it.
fn id_of(raw: &mut Raw, name: &str) -> Uuid {
    let topic = MetadataRequestTopic::default().with_name(Some(text(name).into()));
    let request = MetadataRequest::default().with_topics(Some(vec![topic]));
    let answer = raw.ask(ApiKey::Metadata, 12, &RequestKind::Metadata(request));
    let ResponseKind::Metadata(answer) = answer else { unreachable!() };
    answer.topics.first().unwrap().topic_id
}

fn fetch(raw: &mut Raw, id: Uuid) -> FetchResponse {
    let partition = FetchPartition::default().with_partition_max_bytes(1_000);
    let topic = FetchTopic::default().with_topic_id(id).with_partitions(vec![partition]);
    let request = FetchRequest::default().with_max_bytes(1_000).with_topics(vec![topic]);
    let answer = raw.ask(ApiKey::Fetch, 13, &RequestKind::Fetch(request));
    let ResponseKind::Fetch(answer) = answer else { unreachable!() };
    answer
}

#[test]
fn a_fetch_by_id_reads_that_topic_and_no_later_one_of_its_name() {
    let broker = Running::start();
    broker.topic("ledger", 1);
    send(&broker, "ledger", 0, "beacon");
    let mut raw = Raw::connect(&broker);
    let id = id_of(&mut raw, "ledger");
    let answer = fetch(&mut raw, id);
    let topic = answer.responses.first().unwrap();
    assert_eq!((topic.topic_id, topic.topic.as_str()), (id, ""));
    let partition = topic.partitions.first().unwrap();
    assert_eq!((partition.error_code, partition.high_watermark), (0, 1));
    assert!(!partition.records.as_ref().unwrap().is_empty());

    let admin: rdkafka::admin::AdminClient<_> = broker.config().create().unwrap();
    let delete = admin.delete_topics(&["ledger"], &rdkafka::admin::AdminOptions::new());
    crate::embedded::support::runtime().block_on(delete).unwrap();
    broker.topic("ledger", 1);
    assert_ne!(id_of(&mut raw, "ledger"), id);
    let answer = fetch(&mut raw, id);
    let error = answer.responses.first().unwrap().partitions.first().unwrap().error_code;
    assert_eq!(error, UNKNOWN_TOPIC_ID);
}

#[test]
fn a_topic_that_a_client_names_is_created_where_the_settings_say_so() {
    let auto_create = NonZeroU32::new(4);
    // A client gives up soon what it waits for in vain.
    let all = [(None, None, "2000"), (auto_create, Some(4), "60000")];
    for (auto_create, partitions, within_ms) in all {
        let broker =
            Running::start_with(BrokerSettings { auto_create, ..BrokerSettings::default() });
        // A reader creates nothing.
        let reader: BaseConsumer = broker.config().create().unwrap();
        let found = reader.fetch_metadata(Some("named"), PATIENCE).unwrap();
        assert_eq!(found.topics()[0].partitions().len(), 0);
        let producer: ThreadedProducer<_> =
            broker.config().set("message.timeout.ms", within_ms).create().unwrap();
        producer.send(BaseRecord::<(), _>::to("named").payload("x")).map_err(|(e, _)| e).unwrap();
        producer.flush(PATIENCE).ok();
        let found = reader.fetch_metadata(None, PATIENCE).unwrap();
        let topic = found.topics().iter().find(|topic| topic.name() == "named");
        assert_eq!(topic.map(|topic| topic.partitions().len()), partitions);
    }
}

#[test]
fn a_compacted_topic_loses_nothing_for_its_age() {
    let broker = Running::start();
    for (name, policy) in [("kept", "compact"), ("both", "compact,delete"), ("gone", "delete")] {
        let topic = NewTopic::new(name, 1, TopicReplication::Fixed(1));
        broker.create(&topic.set("cleanup.policy", policy).set("retention.ms", "1")).unwrap();
        send(&broker, name, 0, "old");
    }
    let wrong = NewTopic::new("wrong", 1, TopicReplication::Fixed(1));
    assert!(broker.create(&wrong.set("cleanup.policy", "shred")).is_err());
    let reader: BaseConsumer = broker.config().create().unwrap();
    let low = |name: &str| reader.fetch_watermarks(name, 0, PATIENCE).unwrap().0;
    eventually("two logs without their old record", || {
        std::thread::sleep(Duration::from_millis(20));
        (low("both") == 1 && low("gone") == 1).then_some(())
    });
    assert_eq!(low("kept"), 0);
}

#[test]
fn transactions_are_refused_as_what_this_broker_does_not_have() {
    let broker = Running::start();
    let mut raw = Raw::connect(&broker);
    let request = InitProducerIdRequest::default().with_transactional_id(Some(text("t").into()));
    let answer = raw.ask(ApiKey::InitProducerId, 4, &RequestKind::InitProducerId(request));
    let ResponseKind::InitProducerId(answer) = answer else { unreachable!() };
    assert_eq!(answer.error_code, 35, "UNSUPPORTED_VERSION");
}

/// KAFKA-18659: older clients compress only if Produce is listed from version 0 on.
#[test]
fn produce_is_listed_from_version_0_on() {
    let broker = Running::start();
    let mut raw = Raw::connect(&broker);
    let request = RequestKind::ApiVersions(ApiVersionsRequest::default());
    let ResponseKind::ApiVersions(answer) = raw.ask(ApiKey::ApiVersions, 0, &request) else {
        unreachable!()
    };
    let least = |key: i16| answer.api_keys.iter().find(|it| it.api_key == key).unwrap().min_version;
    // As Apache Kafka 4.3.0 answers for these two.
    assert_eq!([least(0), least(2)], [0, 1]);
}
