//! Answers that name brokers, in every version that the decoder knows: host and port are replaced,
//! and nothing else is.

use bytes::Bytes;
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::{ApiKey, ApiVersionsResponse, ResponseHeader, ResponseKind};
use kafka_protocol::protocol::Decodable;
use proptest::prelude::*;
use tandem::wire::{
    Naming, WireError, broker_addresses, cap_versions, naming, newest_naming, number,
};

use support::cases::cases;
use support::naming_answers::{Brokers, KEYS, answer, naming_versions, text, written};

fn read(key: ApiKey, version: i16, frame: &[u8]) -> ResponseKind {
    let mut bytes = Bytes::copy_from_slice(frame);
    let header = key.response_header_version(version);
    assert_eq!(ResponseHeader::decode(&mut bytes, header).unwrap().correlation_id, 7);
    let body = ResponseKind::decode(key, &mut bytes, version).unwrap();
    assert!(bytes.is_empty());
    body
}

fn brokers() -> impl Strategy<Value = Brokers> {
    let host = "[a-z0-9.-]{1,300}";
    prop::collection::vec((any::<i32>(), host, 1_u16..), 1..40)
}

proptest! {
    #![proptest_config(cases(0x5EED_0031, 64))]

    #[test]
    fn only_host_and_port_change(named in brokers(), edge in "[a-z0-9.]{1,200}") {
        for (key, version) in naming_versions() {
            let original = answer(key, version, &named);
            let frame = written(key, version, &original);
            let addresses = broker_addresses(number(key), version, &frame).unwrap();
            let listed = addresses.found.iter();
            let found: Vec<_> = listed.map(|at| (at.host.clone(), at.port)).collect();
            let single = key == ApiKey::FindCoordinator && version < 4;
            let most = if single { 1 } else { named.len() };
            let said = |(_, host, port): &(i32, String, u16)| (host.clone(), i32::from(*port));
            let expected: Vec<_> = named.iter().take(most).map(said).collect();
            prop_assert_eq!(found, expected, "{:?} {}", key, version);

            let others: Vec<_> = (0..most).map(|at| Some((edge.clone(), at as u16 + 1))).collect();
            let replaced = addresses.replaced(&frame, &others);
            let ports = named.iter().zip(1..).map(|((id, _, _), port)| (*id, edge.clone(), port));
            let expected = answer(key, version, &ports.collect());
            prop_assert_eq!(read(key, version, &replaced), expected, "{:?} {}", key, version);

            // The same again: every byte as it was.
            let same = addresses.found.iter().map(|at| Some((at.host.clone(), at.port as u16)));
            prop_assert_eq!(&addresses.replaced(&frame, &same.collect::<Vec<_>>())[..], &frame[..]);
            let none = vec![None; most];
            prop_assert_eq!(&addresses.replaced(&frame, &none)[..], &frame[..]);
        }
    }
}

#[test]
fn unknown_fields_stay() {
    let named = vec![(1, "broker-1.example".to_owned(), 9092)];
    let ResponseKind::Fetch(mut said) = answer(ApiKey::Fetch, 17, &named) else { unreachable!() };
    said.unknown_tagged_fields.insert(5, Bytes::from_static(b"later"));
    said.node_endpoints[0].unknown_tagged_fields.insert(9, Bytes::from_static(b"even later"));
    let frame = written(ApiKey::Fetch, 17, &ResponseKind::Fetch(said.clone()));
    let addresses = broker_addresses(1, 17, &frame).unwrap();
    let replaced = addresses.replaced(&frame, &[Some(("127.0.0.1".to_owned(), 5))]);
    (said.node_endpoints[0].host, said.node_endpoints[0].port) = (text("127.0.0.1"), 5);
    assert_eq!(read(ApiKey::Fetch, 17, &replaced), ResponseKind::Fetch(said));
}

#[test]
fn every_response_that_names_brokers_is_known_in_its_newest_version() {
    assert_eq!(naming_versions().len(), 14 + 7 + 3 + 4 + 3 + 1 + 1);
    for key in KEYS {
        let newest = key.valid_versions().max;
        assert_eq!(naming(number(key), newest), Naming::Known, "{key:?}");
        assert_eq!(naming(number(key), newest + 1), Naming::TooNew, "{key:?}");
        let unknown = broker_addresses(number(key), newest + 1, &[0; 100]);
        assert!(matches!(unknown, Err(WireError::Unsupported { .. })));
    }
    assert_eq!(naming(number(ApiKey::Fetch), 15), Naming::Never);
    assert_eq!(naming(number(ApiKey::Heartbeat), 4), Naming::Never);
}

#[test]
fn damaged_answers_are_refused_and_reserve_nothing() {
    let named = vec![(1, "broker-1.example".to_owned(), 9092)];
    for (key, version) in naming_versions() {
        let frame = written(key, version, &answer(key, version, &named));
        for at in 0..frame.len() {
            drop(broker_addresses(number(key), version, &frame[..at]));
            let mut absurd = frame.clone();
            absurd[at..].fill(0x7f);
            drop(broker_addresses(number(key), version, &absurd));
        }
    }
}

/// What a broker says that it speaks, in a version, cut down to what can be followed.
#[test]
fn versions_are_capped_and_nothing_else_is() {
    let spoken = |max: i16| {
        let api = |key: i16| {
            ApiVersion::default().with_api_key(key).with_min_version(0).with_max_version(max)
        };
        ApiVersionsResponse::default().with_api_keys((0..200).map(api).collect())
    };
    let newest = |key| newest_naming(key).or_else(|| (key == 12).then_some(4));
    for version in 0..=4 {
        let frame = written(ApiKey::ApiVersions, version, &ResponseKind::ApiVersions(spoken(99)));
        let capped = cap_versions(version, &frame, newest).unwrap();
        let ResponseKind::ApiVersions(said) = read(ApiKey::ApiVersions, version, &capped) else {
            unreachable!()
        };
        for api in said.api_keys {
            assert_eq!(api.max_version, newest(api.api_key).unwrap_or(99), "{}", api.api_key);
        }
        // What need not be capped stays as it came.
        let frame = written(ApiKey::ApiVersions, version, &ResponseKind::ApiVersions(spoken(1)));
        assert_eq!(cap_versions(version, &frame, newest).unwrap(), frame);
    }
    // A broker that is older than the question answers in version 0 (KIP-35).
    let refused = ResponseKind::ApiVersions(spoken(99).with_error_code(35));
    let frame = written(ApiKey::ApiVersions, 0, &refused);
    let capped = cap_versions(4, &frame, newest).unwrap();
    assert_eq!(capped, cap_versions(0, &frame, newest).unwrap());
    assert_ne!(capped, frame);
}
