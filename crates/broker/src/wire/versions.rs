//! Lowers the versions in a broker's answer to ApiVersions to those that an edge knows.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::ApiKey;

use super::WireError;
use super::api::number;
use super::shape::Walker;

/// Kafka's UNSUPPORTED_VERSION: an answer with this error is in version 0 for every
/// requested version (KIP-35).
const UNSUPPORTED_VERSION: i16 = 35;
/// The first version with compact lengths. The header of the answer never has tagged fields.
const FLEXIBLE: i16 = 3;

/// The answer to ApiVersions, without its length prefix, with the newest version of each API
/// lowered to that of `newest`, where there is one. All other bytes stay unchanged.
///
/// # Errors
/// The bytes do not follow the shape of the answer.
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

/// The positions of newest versions that are too high, with the versions to replace them.
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
