//! What the headers of a beacon say: which versions its author works with, of which group it is,
//! and which program it runs. In the fast mode also the life of its sender and the instant of its
//! sending; a message without these renews no claim in that mode. On the partition that all members
//! read: what its sender states about itself.

use rdkafka::message::{Header, Headers, OwnedHeaders};

use tandem_facts::ids::Life;
use tandem_facts::time::Mono;
use tandem_neli::{Author, Statement};

/// The life of the sender, as in `p1-1.3`.
const LIFE: &str = "tandem-life";
/// Nanoseconds on the sender's monotonic clock, eight bytes, big-endian. Only the sender reads it.
const SENT: &str = "tandem-sent";

/// Which versions of the protocol the author works with.
const VERSIONS: &str = "tandem-versions";

/// Which group the author is of, as in `market/p1`.
const GROUP: &str = "tandem-group";
/// Which program it runs.
const PROGRAM: &str = "tandem-program";
/// The longest such text that is believed.
const NAMED_MOST: usize = 600;

/// What a member states about itself.
const STATEMENT: &str = "tandem-statement";

/// Where its program offers its service.
const SERVICE: &str = "tandem-service";
/// The longest such address that is believed.
const SERVICE_MOST: usize = 255;

/// What the beacons of a member name. Both texts have at most 600 bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// Which group it is of, as TOPOLOGY/GROUP@CONSUMER-GROUP. Of two members on one topic that
    /// name different groups of one consumer group, the one that came later leaves. One that names
    /// none works with all.
    pub group: Option<String>,
    /// The program, with its version. A member that meets another one warns of it once.
    pub program: Option<String>,
}

/// What a beacon says beside its author.
#[derive(Debug, Clone, Copy)]
pub enum Mark<'a> {
    /// That this life sends it now.
    Sent(&'a Life, Mono),
    /// What its sender states about itself, and where it offers its service.
    Statement(&'a Statement, Option<&'a str>),
}

/// The headers of a beacon.
pub(super) fn headers(author: Author, named: &Named, mark: Option<Mark<'_>>) -> OwnedHeaders {
    let mut headers = OwnedHeaders::new_with_capacity(5)
        .insert(Header { key: VERSIONS, value: Some(&author.encode()) });
    for (key, value) in [(GROUP, &named.group), (PROGRAM, &named.program)] {
        if let Some(value) = value {
            headers = headers.insert(Header { key, value: Some(value) });
        }
    }
    match mark {
        None => headers,
        Some(Mark::Sent(life, sent)) => {
            let (life, sent) = (life.to_string(), sent.0.to_be_bytes());
            headers
                .insert(Header { key: LIFE, value: Some(&life) })
                .insert(Header { key: SENT, value: Some(&sent) })
        }
        Some(Mark::Statement(statement, service)) => {
            let headers =
                headers.insert(Header { key: STATEMENT, value: Some(&statement.encode()) });
            match service {
                Some(service) => headers.insert(Header { key: SERVICE, value: Some(service) }),
                None => headers,
            }
        }
    }
}

fn value<'a>(headers: &'a impl Headers, key: &str) -> Option<&'a [u8]> {
    headers.iter().find(|header| header.key == key)?.value
}

/// The author of a message with these headers, if it names its versions.
pub(super) fn author(headers: &impl Headers) -> Option<Author> {
    Author::decode(value(headers, VERSIONS)?)
}

/// What the sender of a message with these headers names.
pub(super) fn named(headers: &impl Headers) -> Named {
    let [group, program] = [GROUP, PROGRAM].map(|key| text(headers, key, NAMED_MOST));
    Named { group, program }
}

/// What the sender of a message with these headers states, if it does.
pub(super) fn stated(headers: &impl Headers) -> Option<Statement> {
    Statement::decode(value(headers, STATEMENT)?)
}

/// Where the sender of a message with these headers offers its service, if it says so.
pub(super) fn advertised(headers: &impl Headers) -> Option<String> {
    text(headers, SERVICE, SERVICE_MOST)
}

fn text(headers: &impl Headers, key: &str, most: usize) -> Option<String> {
    let bytes = value(headers, key).filter(|bytes| bytes.len() <= most)?;
    let text = std::str::from_utf8(bytes).ok()?;
    // It is printed.
    (!text.chars().any(char::is_control)).then(|| text.to_owned())
}

/// When this life sent a message with these headers; `None` where another did, or none that says.
pub(super) fn sent_by(life: &str, headers: &impl Headers) -> Option<Mono> {
    if value(headers, LIFE)? != life.as_bytes() {
        return None;
    }
    Some(Mono(u64::from_be_bytes(value(headers, SENT)?.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tandem_neli::Versions;

    #[test]
    fn an_address_is_read_back_and_a_long_one_is_not() {
        let none = OwnedHeaders::new();
        assert_eq!(advertised(&none), None);
        let with =
            |text: &str| OwnedHeaders::new().insert(Header { key: SERVICE, value: Some(text) });
        assert_eq!(advertised(&with("h:1")).as_deref(), Some("h:1"));
        assert_eq!(advertised(&with(&"x".repeat(256))), None);
    }

    #[test]
    fn a_member_knows_its_own_messages_and_no_others() {
        let life = |text: &str| Life::try_from(text.to_owned()).unwrap();
        let me = Author { versions: Versions::OURS, settled: true };
        let ours = Named { group: Some("t/p1".to_owned()), program: None };
        let marked = headers(me, &ours, Some(Mark::Sent(&life("p1-1.3"), Mono(7))));
        assert_eq!(author(&marked), Some(me));
        assert_eq!(author(&OwnedHeaders::new()), None, "members of before had no versions");
        assert_eq!(named(&marked), ours);
        assert_eq!(named(&OwnedHeaders::new()), Named::default());
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
