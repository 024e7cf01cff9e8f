//! Requests that are answered by their edge: in every version that the decoder knows, with the code
//! where clients look for it, in turn.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{
    ApiKey, RequestHeader, RequestKind, ResponseHeader, ResponseKind, TopicName,
};
use kafka_protocol::protocol::{Decodable, Encodable};
use tandem::edge::{Direction, Effect};
use tandem::wire::{newest_readable, number};
use uuid::Uuid;

use crate::proxy::upstream::Echo;
use support::edge::process::{Client, Edges, rule};
use support::samples;

const KEYS: [ApiKey; 13] = [
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
const CODE: i16 = 25;
const ID: Uuid = Uuid::from_u128(7);

/// A sample as newer versions say it: topics have ids and no names.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others look the same in all versions")]
fn renewed(version: i16, mut body: RequestKind) -> RequestKind {
    match &mut body {
        RequestKind::Produce(ask) if version >= 13 => {
            for topic in &mut ask.topic_data {
                (topic.name, topic.topic_id) = (TopicName::default(), ID);
            }
        }
        RequestKind::Fetch(ask) if version >= 13 => {
            for topic in &mut ask.topics {
                (topic.topic, topic.topic_id) = (TopicName::default(), ID);
            }
        }
        _ => {}
    }
    body
}

fn framed(key: ApiKey, version: i16, body: &RequestKind) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    RequestHeader::default()
        .with_request_api_key(number(key))
        .with_request_api_version(version)
        .with_correlation_id(7)
        .with_client_id(Some("p1-1.1".to_owned().into()))
        .encode(&mut bytes, key.request_header_version(version))
        .unwrap();
    body.encode(&mut bytes, version).unwrap();
    [&(bytes.len() as u32).to_be_bytes()[..], &bytes].concat()
}

/// All the codes of an answer: of the whole, then of its parts.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others are not answered")]
fn codes(answer: &ResponseKind) -> (Option<i16>, Vec<i16>) {
    use ResponseKind as Say;
    match answer {
        Say::Produce(said) => {
            let parts = said.responses.iter().flat_map(|topic| &topic.partition_responses);
            (None, parts.map(|part| part.error_code).collect())
        }
        Say::Fetch(said) => {
            let parts = said.responses.iter().flat_map(|topic| &topic.partitions);
            (Some(said.error_code), parts.map(|part| part.error_code).collect())
        }
        Say::ListOffsets(said) => {
            let parts = said.topics.iter().flat_map(|topic| &topic.partitions);
            (None, parts.map(|part| part.error_code).collect())
        }
        Say::Metadata(said) => {
            (Some(said.error_code), said.topics.iter().map(|topic| topic.error_code).collect())
        }
        Say::OffsetCommit(said) => {
            let parts = said.topics.iter().flat_map(|topic| &topic.partitions);
            (None, parts.map(|part| part.error_code).collect())
        }
        Say::OffsetFetch(said) => {
            let groups = said.groups.iter().map(|group| group.error_code);
            let parts = said.topics.iter().flat_map(|topic| &topic.partitions);
            (Some(said.error_code), groups.chain(parts.map(|part| part.error_code)).collect())
        }
        Say::FindCoordinator(said) => {
            (Some(said.error_code), said.coordinators.iter().map(|one| one.error_code).collect())
        }
        Say::LeaveGroup(said) => {
            (Some(said.error_code), said.members.iter().map(|one| one.error_code).collect())
        }
        Say::JoinGroup(said) => (Some(said.error_code), vec![]),
        Say::Heartbeat(said) => (Some(said.error_code), vec![]),
        Say::SyncGroup(said) => (Some(said.error_code), vec![]),
        Say::InitProducerId(said) => (Some(said.error_code), vec![]),
        Say::ConsumerGroupHeartbeat(said) => (Some(said.error_code), vec![]),
        other => panic!("{other:?}"),
    }
}

/// Where the code must stand: of the whole, and of how many parts.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others have one place in all versions")]
fn expected(key: ApiKey, version: i16) -> (Option<i16>, usize) {
    match key {
        ApiKey::Produce | ApiKey::ListOffsets | ApiKey::OffsetCommit => (None, 1),
        ApiKey::Fetch => (Some(0), 2),
        ApiKey::Metadata => (Some(if version >= 13 { CODE } else { 0 }), 1),
        ApiKey::OffsetFetch if version >= 8 => (Some(0), 1),
        ApiKey::OffsetFetch => (Some(if version >= 2 { CODE } else { 0 }), 2),
        ApiKey::FindCoordinator if version >= 4 => (Some(0), 2),
        ApiKey::LeaveGroup if version >= 3 => (Some(CODE), 1),
        _ => (Some(CODE), 0),
    }
}

#[test]
fn every_version_of_an_answer_has_its_code() {
    use std::io::Write;
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let mut client = Client::connect(&edges.open("p1-1", &echo.address));
    let apis = KEYS.map(number);
    edges.put("k", rule("p1-1", Direction::Both, &apis, Effect::Answer { code: CODE }));
    for key in KEYS {
        let newest = newest_readable(number(key)).unwrap();
        for version in key.valid_versions().min..=newest {
            let mut body = renewed(version, samples::sample(key, version).unwrap());
            if let RequestKind::Produce(ask) = &mut body {
                ask.acks = -1;
            }
            client.0.write_all(&framed(key, version, &body)).unwrap();
            let (correlation, bytes) = client.answer();
            assert_eq!(correlation, 7);
            let mut bytes = Bytes::from([&[0; 4][..], &bytes].concat());
            drop(ResponseHeader::decode(&mut bytes, key.response_header_version(version)).unwrap());
            let answer = ResponseKind::decode(key, &mut bytes, version).unwrap();
            assert!(bytes.is_empty(), "{key:?} {version}");
            let (whole, parts) = codes(&answer);
            let (expected_whole, count) = expected(key, version);
            assert_eq!((whole, parts), (expected_whole, vec![CODE; count]), "{key:?} {version}");
        }
    }
    assert_eq!(echo.apis(), [0; 0], "the broker saw nothing");
    edges.heal("k");
    client.exchange(12, 1);
}

/// What was asked before is answered before, as on a connection to a broker.
#[test]
fn an_answer_waits_for_its_turn() {
    use std::io::Write;
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let mut client = Client::connect(&edges.open("p1-1", &echo.address));
    let answer = Effect::Answer { code: CODE };
    edges.put("a", rule("p1-1", Direction::Both, &[12], answer));
    edges.put(
        "k",
        rule("p1-1", Direction::ToBroker, &[], {
            let delay = tandem::time::Span::ms(50);
            Effect::Slow { delay, jitter: tandem::time::Span::default(), bytes_per_second: None }
        }),
    );
    let (_, beat) = samples::written(ApiKey::Heartbeat, 3);
    let beat = [&(beat.len() as u32).to_be_bytes()[..], &beat].concat();
    client.ask(14, 1, 50_000);
    client.0.write_all(&beat).unwrap();
    client.ask(14, 2, 10);
    let order = [client.answer().0, client.answer().0, client.answer().0];
    assert_eq!(order, [1, 7, 2]);
}

#[test]
fn unanswerable_requests_are_refused_and_change_nothing() {
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let mut client = Client::connect(&edges.open("p1-1", &echo.address));
    let answer = || Effect::Answer { code: CODE };
    let slow = Effect::Slow {
        delay: tandem::time::Span::default(),
        jitter: tandem::time::Span::default(),
        bytes_per_second: Some(0),
    };
    let mut nowhere = rule("p1-1", Direction::Both, &[], Effect::Stall);
    nowhere.scope.brokers = Some(["nowhere".to_owned()].into());
    for (rule, why) in [
        (rule("p1-1", Direction::Both, &[12, 19], answer()), "requests of API 19"),
        (rule("p1-1", Direction::Both, &[], answer()), "name the requests"),
        (rule("p1-1", Direction::ToClient, &[12], answer()), "choose the other direction"),
        (rule("p1-1", Direction::Both, &[], slow), "0 bytes a second"),
        (nowhere, "\"nowhere\" is not host:port"),
    ] {
        let said = edges.refuses(rule);
        assert!(said.contains(why), "{said}");
        client.exchange(12, 1);
    }
    let said = edges.send_line("nonsense");
    assert!(matches!(said, tandem::edge::Answer::Refused { .. }), "{said:?}");
}

/// A request that cannot be read cannot be answered, and must not reach the broker.
#[test]
fn a_request_that_cannot_be_answered_costs_its_connection() {
    use std::io::Write;
    let (mut edges, echo) = (Edges::start(), Echo::start());
    let mut client = Client::connect(&edges.open("p1-1", &echo.address));
    let answer = Effect::Answer { code: CODE };
    edges.put("a", rule("p1-1", Direction::Both, &[0, 1, 12], answer));
    // A version that is yet to come, and arrays that claim to be endless.
    for (api, version) in [(12_i16, 99_i16), (1, 12), (1, 17)] {
        let head = [api.to_be_bytes(), version.to_be_bytes()].concat();
        let frame = [&head[..], &[0, 0, 0, 7, 0xff, 0xff, 0], &[0x7f; 40]].concat();
        let framed = [&(frame.len() as u32).to_be_bytes()[..], &frame].concat();
        client.0.write_all(&framed).unwrap();
        assert!(!matches!(client.end(), Ok(1..)), "{api} {version}");
        client = Client::connect(&edges.open("p1-1", &echo.address));
    }
    assert_eq!(echo.apis(), [0; 0]);
}
