//! What is done with any bytes at all, by libFuzzer and by `cargo test --test fuzz`. A panic is a
//! finding.

#![allow(unreachable_pub, reason = "libFuzzer takes this from a library, a test from a module")]

mod groups;

use bytes::Bytes;
use tandem::time::Wall;
use tandem::wire::{
    Batch, WireError, broker_addresses, cap_versions, frame_length, newest_naming, parse,
    parse_foreign,
};

pub use groups::coordinator;

/// Bytes as they come over a connection: lengths and frames.
pub fn request(bytes: &[u8]) {
    if let Some(prefix) = bytes.first_chunk() {
        let prefix_length = i32::from_be_bytes(*prefix);
        match frame_length(*prefix) {
            Ok(length) => assert_eq!(i32::try_from(length), Ok(prefix_length)),
            Err(error) => assert_eq!(error, WireError::Length(prefix_length)),
        }
    }
    drop(parse(Bytes::copy_from_slice(bytes)));
}

/// Two bytes select the response and its version: replaced broker names change every response that
/// names brokers, and replacing them by themselves changes nothing.
pub fn answer(bytes: &[u8]) {
    let Some(([key, version], frame)) = bytes.split_first_chunk() else { return };
    let (key, version) = (i16::from(*key), i16::from(*version));
    drop(parse_foreign(Bytes::copy_from_slice(frame)));
    if let Ok(capped) = cap_versions(version, frame, newest_naming) {
        assert_eq!(capped.len(), frame.len());
        assert_eq!(cap_versions(version, &capped, newest_naming), Ok(capped));
    }
    let Ok(found) = broker_addresses(key, version, frame) else { return };
    let others: Vec<_> =
        (1..).map(|port| Some(("127.0.0.1".to_owned(), port))).take(found.found.len()).collect();
    let replaced = found.replaced(frame, &others);
    let again = broker_addresses(key, version, &replaced).unwrap();
    let heard = again.found.iter().map(|at| (at.host.clone(), at.port));
    let named = others.iter().flatten().map(|(host, port)| (host.clone(), i32::from(*port)));
    assert!(heard.eq(named));
    // What was removed comes back, and nothing else has changed on the way; lengths may have been
    // written with more bytes than they need.
    let hosts: Option<Vec<_>> = found
        .found
        .iter()
        .map(|at| Some(Some((at.host.clone(), u16::try_from(at.port).ok()?))))
        .collect();
    let Some(hosts) = hosts else { return };
    let (there, back) = (found.replaced(frame, &hosts), again.replaced(&replaced, &hosts));
    assert_eq!(there, back);
}

/// Bytes as a record batch: what is accepted is as long as it says, and stays so when stamped.
pub fn batch(bytes: &[u8]) {
    let Ok(mut batch) = Batch::parse(bytes) else { return };
    let count = batch.count();
    assert!(count >= 1);
    batch.place(i64::MAX - i64::from(count), Some(Wall(i64::MAX)));
    let again = Batch::parse(&batch.into_bytes()).unwrap();
    assert_eq!((again.count(), again.max_timestamp()), (count, Wall(i64::MAX)));
}
