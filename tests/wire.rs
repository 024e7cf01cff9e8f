//! Requests of every kind and version are read as they were written; cut short, they are refused;
//! and no bytes at all make the reader panic or reserve what it was not sent.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

#[path = "broker/samples.rs"]
mod samples;

use bytes::Bytes;
use proptest::prelude::*;
use samples::written;
use tandem::wire::{Incoming, SUPPORTED, parse};

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

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

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
