//! Parses the start of a request: its API and version, and whether the broker will answer it.

use kafka_protocol::messages::ApiKey;

use super::limits::HEAD_MAX;
use tandem_broker::wire::number;

/// The identification of a request or of the answer to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// The API key of the request; [`TOKEN`] for a token.
    pub api: i16,
    /// The version of the API.
    pub version: i16,
    /// The correlation id, which the answer carries, too.
    pub correlation: i32,
    /// Whether the broker sends no answer.
    pub silent: bool,
    /// Whether the answer was composed here, in the broker's place.
    pub made_here: bool,
}

/// The API key of a message without a header: a token after SaslHandshake v0.
pub(super) const TOKEN: i16 = -1;
/// No API has a version this high. In a token, text stands in this place.
const VERSION_MAX: i16 = 32;

/// The result of parsing the start of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Head(Head),
    /// More bytes are needed.
    More,
    /// The frame is not a request.
    Nonsense,
}

/// The head of a message without a header.
pub(super) const fn token() -> Head {
    Head { api: TOKEN, version: 0, correlation: 0, silent: false, made_here: false }
}

/// Whether messages without a header follow: SaslHandshake v0.
pub(super) fn begins_tokens(head: &Head) -> bool {
    head.api == number(ApiKey::SaslHandshake) && head.version == 0
}

/// Parses the head of a request of this length, of which the bytes `here` have arrived.
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

/// Whether a frame among tokens looks like a request: its API exists in its version. The second
/// pair of bytes of a token of PLAIN, SCRAM or GSSAPI is text, or a length above this range.
pub(super) fn resembles(head: &Head) -> bool {
    ApiKey::try_from(head.api).is_ok() && (0..=VERSION_MAX).contains(&head.version)
}

/// The `acks` of a Produce request, which follow the client id and the transactional id.
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
