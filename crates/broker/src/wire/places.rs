//! Where answers say where brokers are: found in the bytes and replaced there, so that everything
//! else stays as it came, fields that nobody here knows included.

use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::ApiKey;

use super::WireError;
use super::shape::Shape::{Blob, Many, One, Place as Where, Tagged, Text};
use super::shape::{Field, Seen, Walker};
use super::shapes::{BOOL, I8, I16, I32, I64, UUID, all, since, until};

/// Whether an answer says where brokers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// It never does.
    Never,
    /// It may, and they can be found.
    Known,
    /// It does so in older versions; this one is too new for its places to be known.
    TooNew,
}

/// Where a broker is, as an answer says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: i32,
    at: Range<usize>,
}

/// All of an answer, in the order in which they stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// They.
    pub found: Vec<Place>,
    compact: bool,
    tag: Option<(Range<usize>, Range<usize>)>,
}

/// The answers that say it.
struct Telling {
    key: ApiKey,
    since: i16,
    newest: i16,
    fields: &'static [Field],
    /// Whether the places may stand in a tagged field, at the end of everything.
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

const fn telling(key: ApiKey, since: i16, newest: i16, fields: &'static [Field]) -> Telling {
    let to_the_end = matches!(key, ApiKey::Produce | ApiKey::Fetch);
    Telling { key, since, newest, fields, to_the_end }
}

/// All of them. Quorum answers name controllers, to which no client connects.
const TELLING: [Telling; 7] = [
    telling(ApiKey::Metadata, 0, 13, METADATA),
    telling(ApiKey::FindCoordinator, 0, 6, FIND_COORDINATOR),
    telling(ApiKey::DescribeCluster, 0, 2, DESCRIBE_CLUSTER),
    telling(ApiKey::Produce, 10, 13, PRODUCE),
    telling(ApiKey::Fetch, 16, 18, FETCH),
    telling(ApiKey::ShareFetch, 0, 1, SHARE_FETCH),
    telling(ApiKey::ShareAcknowledge, 0, 1, SHARE_ACKNOWLEDGE),
];

/// The newest version of an answer in which brokers can be found; none where it never names any.
#[must_use]
pub fn newest_naming(key: i16) -> Option<i16> {
    telling_of(key).map(|telling| telling.newest)
}

fn telling_of(key: i16) -> Option<&'static Telling> {
    let key = ApiKey::try_from(key).ok()?;
    TELLING.iter().find(|telling| telling.key == key)
}

/// Whether the answer to a request of that number and version says where brokers are.
#[must_use]
pub fn naming(key: i16, version: i16) -> Naming {
    match telling_of(key) {
        Some(telling) if version > telling.newest => Naming::TooNew,
        Some(telling) if version >= telling.since => Naming::Known,
        Some(_) | None => Naming::Never,
    }
}

/// Finds them in an answer, its length not included; none where it names none.
///
/// # Errors
/// Where the bytes do not have the shape of that answer, or are too new for it to be known.
pub fn places(key: i16, version: i16, frame: &[u8]) -> Result<Places, WireError> {
    let malformed = || WireError::Malformed { key, version };
    let Some(telling) = telling_of(key).filter(|_| naming(key, version) == Naming::Known) else {
        return Err(WireError::Unsupported { key, version });
    };
    let compact = telling.key.response_header_version(version) > 0;
    let seen = walk(telling, version, compact, frame).ok_or_else(malformed)?;
    let found = seen.places.into_iter().map(|(at, host, port)| Place { host, port, at });
    Ok(Places { found: found.collect(), compact, tag: seen.tag })
}

fn walk(telling: &Telling, version: i16, compact: bool, frame: &[u8]) -> Option<Seen> {
    let mut walker = Walker::new(frame, version, compact);
    walker.skip(4)?;
    walker.tags()?;
    if telling.to_the_end {
        walker.fields(telling.fields)?;
    } else {
        walker.first(telling.fields)?;
    }
    Some(walker.seen())
}

impl Places {
    /// The answer with another address at each place for which there is one; the frame must be the
    /// one in which the places were found, and the list as long as theirs.
    #[must_use]
    pub fn replaced(&self, frame: &[u8], others: &[Option<(String, u16)>]) -> Bytes {
        let mut edits: Vec<(Range<usize>, BytesMut)> = Vec::new();
        let (mut removed, mut added) = (0, 0);
        for (place, other) in self.found.iter().zip(others) {
            let Some((host, port)) = other else { continue };
            let said = self.said(host, *port);
            removed += place.at.len();
            added += said.len();
            edits.push((place.at.clone(), said));
        }
        if let Some((size, contents)) = &self.tag {
            // Not negative: what is removed stands within the contents.
            let mut said = BytesMut::new();
            put_varint(&mut said, (contents.len() + added).saturating_sub(removed));
            edits.insert(0, (size.clone(), said));
        }
        let mut bytes = BytesMut::with_capacity(frame.len() + added + 5);
        let mut from = 0;
        for (at, said) in edits {
            bytes.put_slice(frame.get(from..at.start).unwrap_or_default());
            bytes.put_slice(&said);
            from = at.end;
        }
        bytes.put_slice(frame.get(from..).unwrap_or_default());
        bytes.freeze()
    }

    fn said(&self, host: &str, port: u16) -> BytesMut {
        let mut said = BytesMut::new();
        if self.compact {
            put_varint(&mut said, host.len() + 1);
        } else {
            said.put_i16(i16::try_from(host.len()).unwrap_or(i16::MAX));
        }
        said.put_slice(host.as_bytes());
        said.put_i32(i32::from(port));
        said
    }
}

/// Seven bits a byte, the lowest first.
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
