//! The mark of a beacon in the fast mode: the life of its sender and the instant of its sending, as
//! two headers. A message without them is heard like any other, and renews no claim in that mode.

use rdkafka::message::{Header, Headers, OwnedHeaders};

use tandem_facts::ids::Life;
use tandem_facts::time::Mono;

/// The life of the sender, as in `p1-1.3`.
const LIFE: &str = "tandem-life";
/// Nanoseconds on the sender's monotonic clock, eight bytes, big-endian. Only the sender reads it.
const SENT: &str = "tandem-sent";

/// The mark of a message that this life sends now.
pub(super) fn headers(life: &Life, sent: Mono) -> OwnedHeaders {
    let (life, sent) = (life.to_string(), sent.0.to_be_bytes());
    OwnedHeaders::new_with_capacity(2)
        .insert(Header { key: LIFE, value: Some(&life) })
        .insert(Header { key: SENT, value: Some(&sent) })
}

/// When this life sent a message with these headers; `None` where another did, or none that says.
pub(super) fn sent_by(life: &str, headers: &impl Headers) -> Option<Mono> {
    let value = |key: &str| headers.iter().find(|header| header.key == key)?.value;
    if value(LIFE)? != life.as_bytes() {
        return None;
    }
    Some(Mono(u64::from_be_bytes(value(SENT)?.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_knows_its_own_messages_and_no_others() {
        let life = |text: &str| Life::try_from(text.to_owned()).unwrap();
        let marked = headers(&life("p1-1.3"), Mono(7));
        assert_eq!(sent_by("p1-1.3", &marked), Some(Mono(7)));
        for other in ["p1-1.2", "p1-1.30", "p1-2.3", ""] {
            assert_eq!(sent_by(other, &marked), None, "{other}");
        }
        let half = OwnedHeaders::new().insert(Header { key: LIFE, value: Some("p1-1.3") });
        assert_eq!(sent_by("p1-1.3", &half), None);
        let short = half.insert(Header { key: SENT, value: Some(&[1_u8, 2][..]) });
        assert_eq!(sent_by("p1-1.3", &short), None);
    }
}
