//! What is done with any bytes at all, by libFuzzer and by `cargo test --test fuzz`. A panic is a
//! finding.

mod groups;

use bytes::Bytes;
use tandem::time::Wall;
use tandem::wire::{Batch, WireError, frame_length, parse};

pub(crate) use groups::coordinator;

/// Bytes as they come over a connection: lengths and frames.
pub(crate) fn request(bytes: &[u8]) {
    if let Some(prefix) = bytes.first_chunk() {
        let told = i32::from_be_bytes(*prefix);
        match frame_length(*prefix) {
            Ok(length) => assert_eq!(i32::try_from(length), Ok(told)),
            Err(error) => assert_eq!(error, WireError::Length(told)),
        }
    }
    drop(parse(Bytes::copy_from_slice(bytes)));
}

/// Bytes as a record batch: what is accepted is as long as it says, and stays so when stamped.
pub(crate) fn batch(bytes: &[u8]) {
    let Ok(mut batch) = Batch::parse(bytes) else { return };
    let count = batch.count();
    assert!(count >= 1);
    batch.place(i64::MAX - i64::from(count), Some(Wall(i64::MAX)));
    let again = Batch::parse(&batch.into_bytes()).unwrap();
    assert_eq!((again.count(), again.max_timestamp()), (count, Wall(i64::MAX)));
}
