//! A client that speaks Kafka's frames and does little else, so that what is measured is the way.

use std::io::{Read, Write};
use std::net::TcpStream;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    ApiKey, CreateTopicsRequest, CreateTopicsResponse, FetchRequest, FetchResponse, GroupId,
    HeartbeatRequest, ProduceRequest, ProduceResponse, RequestHeader, TopicName,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use tandem::time::{Mono, Wall};
use tandem::wire::{Batch, HEADER_BYTES, number};

/// The records of a batch.
const BATCH: usize = 64 << 10;
/// Batches that are on their way at once.
const WINDOW: usize = 8;
/// What one fetch asks for at most.
const FETCH: i32 = 1 << 20;

/// One connection.
pub(crate) struct Speaker {
    stream: TcpStream,
    correlation: i32,
}

impl Speaker {
    pub(crate) fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, correlation: 0 }
    }

    pub(crate) fn create(&mut self, topic: &str) {
        let topic = CreatableTopic::default().with_name(name(topic)).with_num_partitions(1);
        let topic = topic.with_replication_factor(1);
        let request = CreateTopicsRequest::default().with_topics(vec![topic]);
        self.ask(ApiKey::CreateTopics, 4, &request.with_timeout_ms(10_000));
        let made = CreateTopicsResponse::decode(&mut self.answer(), 4).unwrap();
        assert_eq!(made.topics[0].error_code, 0);
    }

    /// So many small requests, each after the answer to the one before: p50 and p95, in us.
    pub(crate) fn small(&mut self, count: usize) -> [f64; 2] {
        let group = GroupId(StrBytes::from_static_str("g"));
        let request = HeartbeatRequest::default().with_group_id(group);
        let mut took: Vec<_> = (0..count)
            .map(|_| {
                let began = Mono::now();
                self.ask(ApiKey::Heartbeat, 3, &request);
                self.answer();
                Mono::now().since(began)
            })
            .collect();
        took.sort();
        [count / 2, count * 95 / 100].map(|at| took[at].as_secs_f64() * 1e6)
    }

    /// Writes so many bytes, some batches being on their way at any time: MiB a second.
    pub(crate) fn write(&mut self, topic: &str, bytes: usize) -> f64 {
        let data = PartitionProduceData::default().with_index(0).with_records(Some(batch()));
        let data =
            TopicProduceData::default().with_name(name(topic)).with_partition_data(vec![data]);
        let request = ProduceRequest::default().with_acks(-1).with_timeout_ms(10_000);
        let request = request.with_topic_data(vec![data]);
        let (began, count) = (Mono::now(), bytes / BATCH);
        for at in 0..count + WINDOW {
            if at < count {
                self.ask(ApiKey::Produce, 7, &request);
            }
            if at >= WINDOW {
                let done = ProduceResponse::decode(&mut self.answer(), 7).unwrap();
                assert_eq!(done.responses[0].partition_responses[0].error_code, 0);
            }
        }
        rate(bytes, began)
    }

    /// Reads so many bytes from the beginning of a topic, one request after the other as clients
    /// do: MiB a second.
    pub(crate) fn read(&mut self, topic: &str, bytes: usize) -> f64 {
        let (began, mut offset, mut left) = (Mono::now(), 0, bytes);
        while left > 0 {
            let partition = FetchPartition::default().with_fetch_offset(offset);
            let partition = partition.with_partition_max_bytes(FETCH);
            let asked = FetchTopic::default().with_topic(name(topic));
            let asked = asked.with_partitions(vec![partition]);
            let request = FetchRequest::default().with_max_bytes(FETCH).with_min_bytes(1);
            let request = request.with_session_epoch(-1).with_topics(vec![asked]);
            self.ask(ApiKey::Fetch, 11, &request);
            let found = FetchResponse::decode(&mut self.answer(), 11).unwrap();
            let records = found.responses[0].partitions[0].records.as_ref().unwrap();
            let batches = records.len() / (BATCH + HEADER_BYTES);
            assert!(batches > 0, "nothing was read at {offset}");
            offset += i64::try_from(batches).unwrap();
            left = left.saturating_sub(batches * BATCH);
        }
        rate(bytes, began)
    }

    fn ask(&mut self, key: ApiKey, version: i16, body: &impl Encodable) {
        self.correlation += 1;
        let header = RequestHeader::default().with_request_api_key(number(key));
        let header = header.with_request_api_version(version).with_correlation_id(self.correlation);
        let mut frame = BytesMut::from(&[0; 4][..]);
        header.encode(&mut frame, key.request_header_version(version)).unwrap();
        body.encode(&mut frame, version).unwrap();
        let length = u32::try_from(frame.len() - 4).unwrap();
        frame[..4].copy_from_slice(&length.to_be_bytes());
        self.stream.write_all(&frame).unwrap();
    }

    /// What stands behind the correlation id.
    fn answer(&mut self) -> Bytes {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).unwrap();
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        self.stream.read_exact(&mut frame).unwrap();
        Bytes::from(frame).split_off(4)
    }
}

fn name(topic: &str) -> TopicName {
    TopicName(StrBytes::from_string(topic.to_owned()))
}

fn rate(bytes: usize, began: Mono) -> f64 {
    bytes as f64 / f64::from(1 << 20) / Mono::now().since(began).as_secs_f64()
}

/// A batch of one record, into which neither broker nor edge looks.
fn batch() -> Bytes {
    let mut bytes = vec![0; HEADER_BYTES + BATCH];
    let length = u32::try_from(bytes.len() - 12).unwrap();
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    bytes[16] = 2;
    // Written now, or it would be too old to be kept.
    let now = Wall::now().0.to_be_bytes();
    bytes[27..35].copy_from_slice(&now);
    bytes[35..43].copy_from_slice(&now);
    // No producer id, epoch and sequence; one record.
    bytes[43..57].fill(0xff);
    bytes[60] = 1;
    let checksum = crc32c::crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
    assert!(Batch::parse(&bytes).is_ok());
    Bytes::from(bytes)
}
