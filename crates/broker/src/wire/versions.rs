//! What a broker says that it speaks, cut down to what can be followed.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::ApiKey;

use super::WireError;
use super::api::number;
use super::shape::Walker;

/// Kafka's UNSUPPORTED_VERSION: such an answer is in version 0, whatever was asked (KIP-35).
const UNSUPPORTED_VERSION: i16 = 35;
/// The first version with compact lengths; the header of the answer never has tagged fields.
const FLEXIBLE: i16 = 3;

/// An answer to ApiVersions, its length not included, in which no request is spoken in a version
/// that is newer than `newest` says of its number, where it says anything. All other bytes stay as
/// they came.
///
/// # Errors
/// Where the bytes do not have the shape of that answer.
pub fn cap_versions(
    version: i16,
    frame: &[u8],
    newest: impl Fn(i16) -> Option<i16>,
) -> Result<Bytes, WireError> {
    let key = number(ApiKey::ApiVersions);
    let mut capped = BytesMut::from(frame);
    let found = too_new(version, frame, newest).ok_or(WireError::Malformed { key, version })?;
    for (at, max) in found {
        if let Some(place) = capped.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *place = max.to_be_bytes();
        }
    }
    Ok(capped.freeze())
}

/// Where the newest version of a request is too new, and what it may be.
fn too_new(
    version: i16,
    frame: &[u8],
    newest: impl Fn(i16) -> Option<i16>,
) -> Option<Vec<(usize, i16)>> {
    let mut walker = Walker::new(frame, version, false);
    walker.skip(4)?;
    let error = i16::from_be_bytes(walker.take()?);
    let flexible = version >= FLEXIBLE && error != UNSUPPORTED_VERSION;
    let mut walker = walker.then(flexible);
    let mut found = Vec::new();
    for _ in 0..walker.length()? {
        let key = i16::from_be_bytes(walker.take()?);
        walker.skip(2)?;
        let at = walker.at();
        let max = i16::from_be_bytes(walker.take()?);
        walker.tags()?;
        found.extend(newest(key).filter(|newest| max > *newest).map(|newest| (at, newest)));
    }
    Some(found)
}
