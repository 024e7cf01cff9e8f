//! Finds and replaces brokers' addresses in the bytes of an answer. All other bytes stay unchanged,
//! unknown fields included.

use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::ApiKey;

use super::WireError;
use super::shape::Shape::{Address as Where, Blob, Many, One, Tagged, Text};
use super::shape::{Field, Seen, Walker};
use super::shapes::{BOOL, I8, I16, I32, I64, UUID, all, since, until};

/// Whether an answer contains brokers' addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// It never does.
    Never,
    /// It may, and their positions are known.
    Known,
    /// It does in older versions; this version is too new to know the positions.
    TooNew,
}

/// The address of a broker in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerAddress {
    /// The host.
    pub host: String,
    /// The port.
    pub port: i32,
    at: Range<usize>,
}

/// The addresses in an answer, in the order of their positions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerAddresses {
    /// The addresses.
    pub found: Vec<BrokerAddress>,
    compact: bool,
    tag: Option<(Range<usize>, Range<usize>)>,
}

/// The layout of an answer that contains brokers' addresses.
struct Layout {
    key: ApiKey,
    since: i16,
    newest: i16,
    fields: &'static [Field],
    /// Whether the addresses may be in a tagged field, which follows all other fields.
    to_the_end: bool,
}

const BROKERS: Field = all(Many(&[all(I32), all(Where), since(1, Text)]));
const ENDPOINTS: super::shape::Shape = Many(&[all(I32), all(Where), all(Text)]);

const METADATA: &[Field] = &[since(3, I32), BROKERS];

const FIND_COORDINATOR: &[Field] = &[
    since(1, I32),
    until(3, I16),
    Field { since: 1, until: 3, shape: Text },
    until(3, I32),
    until(3, Where),
    since(4, Many(&[all(Text), all(I32), all(Where), all(I16), all(Text)])),
];

const DESCRIBE_CLUSTER: &[Field] = &[
    all(I32),
    all(I16),
    all(Text),
    since(1, I8),
    all(Text),
    all(I32),
    all(Many(&[all(I32), all(Where), all(Text), since(2, BOOL)])),
];

const PRODUCE: &[Field] = &[
    all(Many(&[
        until(12, Text),
        since(13, UUID),
        all(Many(&[
            all(I32),
            all(I16),
            all(I64),
            all(I64),
            all(I64),
            all(Many(&[all(I32), all(Text)])),
            all(Text),
        ])),
    ])),
    all(I32),
    all(Tagged(0, &ENDPOINTS)),
];

const FETCH: &[Field] = &[
    all(I32),
    all(I16),
    all(I32),
    all(Many(&[
        all(UUID),
        all(Many(&[
            all(I32),
            all(I16),
            all(I64),
            all(I64),
            all(I64),
            all(Many(&[all(I64), all(I64)])),
            all(I32),
            all(Blob),
        ])),
    ])),
    all(Tagged(0, &ENDPOINTS)),
];

const LEADER: super::shape::Shape = One(&[all(I32), all(I32)]);

const SHARE_FETCH: &[Field] = &[
    all(I32),
    all(I16),
    all(Text),
    since(1, I32),
    all(Many(&[
        all(UUID),
        all(Many(&[
            all(I32),
            all(I16),
            all(Text),
            all(I16),
            all(Text),
            all(LEADER),
            all(Blob),
            all(Many(&[all(I64), all(I64), all(I16)])),
        ])),
    ])),
    all(ENDPOINTS),
];

const SHARE_ACKNOWLEDGE: &[Field] = &[
    all(I32),
    all(I16),
    all(Text),
    all(Many(&[all(UUID), all(Many(&[all(I32), all(I16), all(Text), all(LEADER)]))])),
    all(ENDPOINTS),
];

const fn layout(key: ApiKey, since: i16, newest: i16, fields: &'static [Field]) -> Layout {
    let to_the_end = matches!(key, ApiKey::Produce | ApiKey::Fetch);
    Layout { key, since, newest, fields, to_the_end }
}

/// The layouts of all such answers. Quorum answers contain controllers, to which no client
/// connects.
const LAYOUTS: [Layout; 7] = [
    layout(ApiKey::Metadata, 0, 13, METADATA),
    layout(ApiKey::FindCoordinator, 0, 6, FIND_COORDINATOR),
    layout(ApiKey::DescribeCluster, 0, 2, DESCRIBE_CLUSTER),
    layout(ApiKey::Produce, 10, 13, PRODUCE),
    layout(ApiKey::Fetch, 16, 18, FETCH),
    layout(ApiKey::ShareFetch, 0, 1, SHARE_FETCH),
    layout(ApiKey::ShareAcknowledge, 0, 1, SHARE_ACKNOWLEDGE),
];

/// The newest version of an answer with known positions of addresses; none if the answer never
/// contains any.
#[must_use]
pub fn newest_naming(key: i16) -> Option<i16> {
    layout_of(key).map(|layout| layout.newest)
}

fn layout_of(key: i16) -> Option<&'static Layout> {
    let key = ApiKey::try_from(key).ok()?;
    LAYOUTS.iter().find(|layout| layout.key == key)
}

/// Whether the answer to a request with this key and version contains brokers' addresses.
#[must_use]
pub fn naming(key: i16, version: i16) -> Naming {
    match layout_of(key) {
        Some(layout) if version > layout.newest => Naming::TooNew,
        Some(layout) if version >= layout.since => Naming::Known,
        Some(_) | None => Naming::Never,
    }
}

/// Finds the brokers' addresses in an answer without its length prefix.
///
/// # Errors
/// The bytes do not follow the shape of the answer, or the version is too new.
pub fn broker_addresses(
    key: i16,
    version: i16,
    frame: &[u8],
) -> Result<BrokerAddresses, WireError> {
    let malformed = || WireError::Malformed { key, version };
    let Some(layout) = layout_of(key).filter(|_| naming(key, version) == Naming::Known) else {
        return Err(WireError::Unsupported { key, version });
    };
    let compact = layout.key.response_header_version(version) > 0;
    let seen = walk(layout, version, compact, frame).ok_or_else(malformed)?;
    let found = seen.addresses.into_iter().map(|(at, host, port)| BrokerAddress { host, port, at });
    Ok(BrokerAddresses { found: found.collect(), compact, tag: seen.tag })
}

fn walk(layout: &Layout, version: i16, compact: bool, frame: &[u8]) -> Option<Seen> {
    let mut walker = Walker::new(frame, version, compact);
    walker.skip(4)?;
    walker.tags()?;
    if layout.to_the_end {
        walker.fields(layout.fields)?;
    } else {
        walker.first(layout.fields)?;
    }
    Some(walker.seen())
}

impl BrokerAddresses {
    /// The answer with these addresses replaced where `others` has one. `frame` must be the answer
    /// in which the addresses were found, and `others` as long as `found`.
    #[must_use]
    pub fn replaced(&self, frame: &[u8], others: &[Option<(String, u16)>]) -> Bytes {
        let mut edits: Vec<(Range<usize>, BytesMut)> = Vec::new();
        let (mut removed, mut added) = (0, 0);
        for (address, other) in self.found.iter().zip(others) {
            let Some((host, port)) = other else { continue };
            let encoded = self.encoded(host, *port);
            removed += address.at.len();
            added += encoded.len();
            edits.push((address.at.clone(), encoded));
        }
        if let Some((size, contents)) = &self.tag {
            // Not negative, since the replaced bytes lie within the contents.
            let mut encoded = BytesMut::new();
            put_varint(&mut encoded, (contents.len() + added).saturating_sub(removed));
            edits.insert(0, (size.clone(), encoded));
        }
        let mut bytes = BytesMut::with_capacity(frame.len() + added + 5);
        let mut from = 0;
        for (at, encoded) in edits {
            bytes.put_slice(frame.get(from..at.start).unwrap_or_default());
            bytes.put_slice(&encoded);
            from = at.end;
        }
        bytes.put_slice(frame.get(from..).unwrap_or_default());
        bytes.freeze()
    }

    fn encoded(&self, host: &str, port: u16) -> BytesMut {
        let mut encoded = BytesMut::new();
        if self.compact {
            put_varint(&mut encoded, host.len() + 1);
        } else {
            encoded.put_i16(i16::try_from(host.len()).unwrap_or(i16::MAX));
        }
        encoded.put_slice(host.as_bytes());
        encoded.put_i32(i32::from(port));
        encoded
    }
}

/// Seven bits per byte, the lowest first.
fn put_varint(bytes: &mut BytesMut, mut value: usize) {
    loop {
        let low = u8::try_from(value & 0x7f).unwrap_or_default();
        value >>= 7;
        if value == 0 {
            bytes.put_u8(low);
            return;
        }
        bytes.put_u8(low | 0x80);
    }
}
