//! What the beginning of a request says: which it is, and whether it will be answered.

use kafka_protocol::messages::ApiKey;

use super::limits::HEAD_MAX;
use tandem_broker::wire::number;

/// What a request, or the answer to one, is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// The number of the request; [`TOKEN`] where it has none.
    pub api: i16,
    /// Its version.
    pub version: i16,
    /// The number that its answer carries.
    pub correlation: i32,
    /// Whether it is never answered.
    pub silent: bool,
    /// Whether it was made here, and not by a broker.
    pub made_here: bool,
}

/// Stands for the number of a message that has none: a token after SaslHandshake v0.
pub(super) const TOKEN: i16 = -1;
/// Versions do not come that high; in a token, text stands there.
const VERSION_MAX: i16 = 32;

/// What is to be done to know more.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Head(Head),
    /// More of it must be here.
    More,
    /// It is no request.
    Nonsense,
}

/// A message that has no header.
pub(super) const fn token() -> Head {
    Head { api: TOKEN, version: 0, correlation: 0, silent: false, made_here: false }
}

/// Whether messages without a header follow: SaslHandshake v0.
pub(super) fn begins_tokens(head: &Head) -> bool {
    head.api == number(ApiKey::SaslHandshake) && head.version == 0
}

/// Reads the head of a request of that length, of which so much is here.
pub(super) fn read(length: usize, here: &[u8]) -> Reading {
    let Some((head, rest)) = here.split_first_chunk::<8>() else {
        return if length < 8 { Reading::Nonsense } else { Reading::More };
    };
    let [k0, k1, v0, v1, c0, c1, c2, c3] = *head;
    let mut head = Head {
        api: i16::from_be_bytes([k0, k1]),
        version: i16::from_be_bytes([v0, v1]),
        correlation: i32::from_be_bytes([c0, c1, c2, c3]),
        silent: false,
        made_here: false,
    };
    if head.api != number(ApiKey::Produce) {
        return Reading::Head(head);
    }
    match acks(head.version, rest) {
        Some(acks) => {
            head.silent = acks == 0;
            Reading::Head(head)
        }
        None if here.len() < length && here.len() < HEAD_MAX => Reading::More,
        None => Reading::Nonsense,
    }
}

/// Whether a frame among tokens is a request again: one that exists, in a version that can be. The
/// second pair of bytes of a token of PLAIN, SCRAM or GSSAPI is text, or a length above this.
pub(super) fn resembles(head: &Head) -> bool {
    ApiKey::try_from(head.api).is_ok() && (0..=VERSION_MAX).contains(&head.version)
}

/// The `acks` of a Produce request, behind the client's name and that of its transaction.
fn acks(version: i16, rest: &[u8]) -> Option<i16> {
    let mut rest = after_text(rest)?;
    if version >= 9 {
        rest = after_tags(rest)?;
        let (length, behind) = varint(rest)?;
        rest = behind.get(length.saturating_sub(1)..)?;
    } else if version >= 3 {
        rest = after_text(rest)?;
    }
    rest.first_chunk().map(|acks| i16::from_be_bytes(*acks))
}

fn after_text(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    match i16::from_be_bytes(*length) {
        -1 => Some(rest),
        length => rest.get(usize::try_from(length).ok()?..),
    }
}

fn after_tags(bytes: &[u8]) -> Option<&[u8]> {
    let (tags, mut rest) = varint(bytes)?;
    for _ in 0..tags {
        let (_, behind) = varint(rest)?;
        let (size, behind) = varint(behind)?;
        rest = behind.get(size..)?;
    }
    Some(rest)
}

fn varint(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value: usize = 0;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        value |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((value, bytes.get(at + 1..)?));
        }
    }
    None
}
