//! Requests of every kind and version are read as they were written; cut short, they are refused;
//! and no bytes at all make the reader panic or reserve what it was not sent.

use bytes::{BufMut, Bytes};
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ReplicaState};
use kafka_protocol::messages::{ApiKey, FetchRequest, RequestHeader};
use kafka_protocol::protocol::{Encodable, StrBytes};
use proptest::prelude::*;
use support::cases::cases;
use support::samples::written;
use tandem::wire::{Incoming, SUPPORTED, parse, parse_foreign};

#[test]
fn requests_read_as_they_were_written() {
    for api in SUPPORTED {
        for version in api.min..=api.max {
            let (body, bytes) = written(api.key, version);
            let Incoming::Request(request) = parse(bytes.clone()).unwrap() else {
                unreachable!("{:?} {version}", api.key)
            };
            assert_eq!(request.body, body, "{:?} {version}", api.key);
            assert_eq!((request.correlation_id, request.client_id.as_str()), (7, "p1-1.1"));
            for cut in 0..bytes.len() {
                assert!(parse(bytes.slice(..cut)).is_err(), "{:?} {version} {cut}", api.key);
            }
        }
    }
}

/// The decoder does not compare what a tagged field holds with the size that it has been given: it
/// would go on at another place, and reserve what the bytes there call a length.
#[test]
fn a_tagged_field_ends_where_it_says() {
    let partition = FetchPartition::default()
        .with_replica_directory_id(uuid::Uuid::from_u128(7))
        .with_high_watermark(7);
    let topic = FetchTopic::default().with_partitions(vec![partition.clone(), partition]);
    let state = ReplicaState::default().with_replica_id(7.into()).with_replica_epoch(7);
    let body = FetchRequest::default()
        .with_cluster_id(Some(StrBytes::from_static_str("seven")))
        .with_replica_state(state)
        .with_topics(vec![topic]);
    let mut bytes = Vec::new();
    let header = RequestHeader::default()
        .with_request_api_key(1)
        .with_request_api_version(18)
        .with_client_id(Some(StrBytes::from_static_str("p1-1.1")));
    header.encode(&mut bytes, ApiKey::Fetch.request_header_version(18)).unwrap();
    body.encode(&mut bytes, 18).unwrap();
    assert!(parse_foreign(Bytes::from(bytes.clone())).is_ok());
    // Number and size of each: a directory and a watermark, a cluster and a replica.
    for (number, size) in [(0, 16), (1, 8), (0, 6), (1, 13)] {
        let at = bytes.windows(2).position(|two| two == [number, size]).unwrap();
        for size in [size - 1, size + 1, 0x7f] {
            let mut wrong = bytes[..=at].to_vec();
            wrong.put_u8(size);
            wrong.extend(&bytes[at + 2..]);
            assert!(parse_foreign(Bytes::from(wrong)).is_err(), "{number} {size}");
        }
    }
}

proptest! {
    #![proptest_config(cases(0x5EED_0030, 2_000))]

    #[test]
    fn damage_is_survived(
        pick in any::<prop::sample::Index>(),
        newest in any::<bool>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let api = SUPPORTED.get(pick.index(SUPPORTED.len())).unwrap();
        let version = if newest { api.max } else { api.min };
        let mut bytes = written(api.key, version).1.to_vec();
        for (at, value) in damage {
            // The header stays, so that the body is looked at.
            let at = 8 + at.index(bytes.len() - 8);
            bytes.splice(at..=at, [value]);
        }
        drop(parse(Bytes::from(bytes)));
    }

    #[test]
    fn noise_is_survived(noise in prop::collection::vec(any::<u8>(), 0..200), key in 0_u8..70) {
        let mut bytes = vec![0, key, 0];
        bytes.extend(noise);
        drop(parse(Bytes::from(bytes)));
    }
}
