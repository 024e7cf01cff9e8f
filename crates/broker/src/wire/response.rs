//! Encodes an answer into a frame.

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, ResponseHeader, ResponseKind};
use kafka_protocol::protocol::Encodable;

use super::WireError;
use super::api::number;

/// The bytes of an answer with its length prefix.
///
/// # Errors
///
/// A value cannot be encoded in this version.
pub fn encode(
    key: ApiKey,
    version: i16,
    correlation_id: i32,
    body: &ResponseKind,
) -> Result<Bytes, WireError> {
    let failed = |reason: String| WireError::Encode { key: number(key), version, reason };
    let mut bytes = BytesMut::with_capacity(256);
    bytes.put_i32(0);
    let header = ResponseHeader::default().with_correlation_id(correlation_id);
    // An answer to ApiVersions always has the oldest header, because the client does not know the
    // supported versions yet (KIP-511).
    header
        .encode(&mut bytes, key.response_header_version(version))
        .and_then(|()| body.encode(&mut bytes, version))
        .map_err(|error| failed(error.to_string()))?;
    let length = bytes.len().saturating_sub(4);
    let length = i32::try_from(length).map_err(|_| failed("too long".to_owned()))?;
    if let Some(prefix) = bytes.first_chunk_mut::<4>() {
        *prefix = length.to_be_bytes();
    }
    Ok(bytes.freeze())
}
