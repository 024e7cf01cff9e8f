//! Answers that would lead a client past its edges, pure.

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::ApiKey;

use super::compose::can_answer;
use super::error::Parting;
use super::head::Head;
use tandem_broker::wire::{
    Naming, WireError, cap_versions, naming, newest_naming, newest_readable, number, places,
};

/// The host of every edge.
pub(super) const HOST: &str = "127.0.0.1";

/// What is changed in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rewriting {
    /// Nothing; it passes as it comes.
    None,
    /// The versions that the broker speaks.
    Versions,
    /// The addresses of brokers.
    Places,
}

/// Who knows the edges of a client.
pub(super) trait Addresses {
    /// The port of its edge to a broker; none where there can be no edge.
    fn edge(&mut self, host: &str, port: u16) -> Option<u16>;
}

/// What must be changed in the answer to a request.
///
/// # Errors
/// Where that cannot be known, because the version is newer than what is known.
pub(super) fn rewriting(head: &Head) -> Result<Rewriting, Parting> {
    if head.api == number(ApiKey::ApiVersions) {
        return Ok(Rewriting::Versions);
    }
    match naming(head.api, head.version) {
        Naming::Never => Ok(Rewriting::None),
        Naming::Known => Ok(Rewriting::Places),
        Naming::TooNew => {
            let (key, version) = (head.api, head.version);
            Err(WireError::Unsupported { key, version }.into())
        }
    }
}

/// The newest version in which an answer can be rewritten, or a request be answered: client and
/// broker must not agree upon a newer one.
fn newest(api: i16) -> Option<i16> {
    newest_naming(api).or_else(|| newest_readable(api).filter(|_| can_answer(api)))
}

/// Changes a whole answer, its length included.
///
/// # Errors
/// Where it does not have its shape, or names a broker to which there can be no edge.
pub(super) fn rewrite(
    head: &Head,
    what: Rewriting,
    framed: Bytes,
    addresses: &mut dyn Addresses,
) -> Result<Bytes, Parting> {
    let frame = framed.get(4..).unwrap_or_default();
    match what {
        Rewriting::None => Ok(framed),
        Rewriting::Versions => Ok(with_length(&cap_versions(head.version, frame, newest)?)),
        Rewriting::Places => {
            let places = places(head.api, head.version, frame)?;
            let others = places.found.iter().map(|place| {
                let (host, port) = (&place.host, place.port);
                // A coordinator that is not known has neither host nor port.
                if host.is_empty() || port <= 0 {
                    return Ok(None);
                }
                let edge = u16::try_from(port).ok().and_then(|port| addresses.edge(host, port));
                let none = || Parting::Edge { host: host.clone(), port };
                edge.map(|port| Some((HOST.to_owned(), port))).ok_or_else(none)
            });
            let others: Vec<_> = others.collect::<Result<_, _>>()?;
            if others.iter().all(Option::is_none) {
                return Ok(framed);
            }
            Ok(with_length(&places.replaced(frame, &others)))
        }
    }
}

fn with_length(frame: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(frame.len() + 4);
    framed.put_i32(i32::try_from(frame.len()).unwrap_or(i32::MAX));
    framed.put_slice(frame);
    framed.freeze()
}
