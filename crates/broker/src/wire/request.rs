//! Decodes a frame into a request.

use bytes::Bytes;
use kafka_protocol::messages::{ApiKey, RequestHeader, RequestKind};
use kafka_protocol::protocol::Decodable;

use super::WireError;
use super::api::{Api, supported};
use super::shape::Walker;
use super::shapes::{HEADER, shape_of};

/// A decoded request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The API key.
    pub key: ApiKey,
    /// The version of the request and of its answer.
    pub version: i16,
    /// The correlation id, which the answer repeats.
    pub correlation_id: i32,
    /// The client id.
    pub client_id: String,
    /// The body.
    pub body: RequestKind,
}

/// The content of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// A request to answer.
    Request(Box<Request>),
    /// An ApiVersions request in an unsupported version (KIP-35). It is answered in version 0 with
    /// UNSUPPORTED_VERSION, so that the client can ask again.
    NewerApiVersions {
        /// The correlation id, which the answer repeats.
        correlation_id: i32,
    },
}

/// Decodes a frame.
///
/// # Errors
///
/// The API is not supported, or the bytes do not follow its shape.
pub fn parse(frame: Bytes) -> Result<Incoming, WireError> {
    take_apart(frame, |api| api.max)
}

/// Decodes a frame for another broker, which may support newer versions of the same APIs.
///
/// # Errors
///
/// The request cannot be decoded, or the bytes do not follow its shape.
pub fn parse_foreign(frame: Bytes) -> Result<Incoming, WireError> {
    take_apart(frame, newest_of)
}

/// The newest version of a request that [`parse_foreign`] can decode; none if it cannot decode any.
#[must_use]
pub fn newest_readable(key: i16) -> Option<i16> {
    supported(key).map(newest_of)
}

/// The decoder's own list of versions is one too high for these APIs.
#[expect(clippy::wildcard_enum_match_arm, reason = "all others are as the decoder says")]
fn newest_of(api: Api) -> i16 {
    match api.key {
        ApiKey::OffsetCommit | ApiKey::OffsetFetch => 9,
        ApiKey::InitProducerId => 5,
        other => other.valid_versions().max,
    }
}

fn take_apart(mut frame: Bytes, newest: impl Fn(Api) -> i16) -> Result<Incoming, WireError> {
    let head = frame.first_chunk::<8>().ok_or(WireError::Malformed { key: -1, version: -1 })?;
    let [k0, k1, v0, v1, c0, c1, c2, c3] = *head;
    let key = i16::from_be_bytes([k0, k1]);
    let version = i16::from_be_bytes([v0, v1]);
    let unsupported = WireError::Unsupported { key, version };
    let malformed = WireError::Malformed { key, version };
    let api = supported(key).ok_or(unsupported.clone())?;
    if !(api.min..=newest(api)).contains(&version) {
        if api.key == ApiKey::ApiVersions {
            let correlation_id = i32::from_be_bytes([c0, c1, c2, c3]);
            return Ok(Incoming::NewerApiVersions { correlation_id });
        }
        return Err(unsupported);
    }
    let fields = shape_of(api.key).ok_or(unsupported)?;
    measure(&frame, version, version >= api.flexible, fields).ok_or(malformed.clone())?;
    let header = RequestHeader::decode(&mut frame, api.key.request_header_version(version))
        .map_err(|_| malformed.clone())?;
    let body = RequestKind::decode(api.key, &mut frame, version).map_err(|_| malformed)?;
    Ok(Incoming::Request(Box::new(Request {
        key: api.key,
        version,
        correlation_id: header.correlation_id,
        client_id: header.client_id.map(|id| id.to_string()).unwrap_or_default(),
        body,
    })))
}

/// Whether header and body are complete.
fn measure(
    frame: &[u8],
    version: i16,
    flexible: bool,
    fields: &[super::shape::Field],
) -> Option<()> {
    let mut header = Walker::new(frame, version, false);
    header.fields(HEADER)?;
    header.text()?;
    let mut body = header.then(flexible);
    if flexible {
        body.tags()?;
    }
    body.fields(fields)
}
