//! Rewrites answers that would lead a client past its edges. Pure.

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::ApiKey;

use super::compose::can_answer;
use super::error::CloseReason;
use super::head::Head;
use tandem_broker::wire::{
    Naming, WireError, broker_addresses, cap_versions, naming, newest_naming, newest_readable,
    number,
};

/// The host of every edge.
pub(super) const HOST: &str = "127.0.0.1";

/// How an answer is rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rewriting {
    /// The answer passes unchanged.
    None,
    /// The API versions that the broker supports.
    Versions,
    /// The addresses of brokers.
    Addresses,
}

/// Finds the edges of a client.
pub(super) trait Addresses {
    /// The port of the client's edge to a broker; none if there can be no edge.
    fn edge(&mut self, host: &str, port: u16) -> Option<u16>;
}

/// How to rewrite the answer to a request.
///
/// # Errors
/// The answer's version is too new to be known.
pub(super) fn rewriting(head: &Head) -> Result<Rewriting, CloseReason> {
    if head.api == number(ApiKey::ApiVersions) {
        return Ok(Rewriting::Versions);
    }
    match naming(head.api, head.version) {
        Naming::Never => Ok(Rewriting::None),
        Naming::Known => Ok(Rewriting::Addresses),
        Naming::TooNew => {
            let (key, version) = (head.api, head.version);
            Err(WireError::Unsupported { key, version }.into())
        }
    }
}

/// The newest version in which an answer can be rewritten or composed. Client and broker must not
/// agree on a newer one.
fn newest(api: i16) -> Option<i16> {
    newest_naming(api).or_else(|| newest_readable(api).filter(|_| can_answer(api)))
}

/// Rewrites a complete answer, length prefix included.
///
/// # Errors
/// The answer cannot be parsed, or contains a broker to which there can be no edge.
pub(super) fn rewrite(
    head: &Head,
    what: Rewriting,
    framed: Bytes,
    addresses: &mut dyn Addresses,
) -> Result<Bytes, CloseReason> {
    let frame = framed.get(4..).unwrap_or_default();
    match what {
        Rewriting::None => Ok(framed),
        Rewriting::Versions => Ok(with_length(&cap_versions(head.version, frame, newest)?)),
        Rewriting::Addresses => {
            let named = broker_addresses(head.api, head.version, frame)?;
            let others = named.found.iter().map(|address| {
                let (host, port) = (&address.host, address.port);
                // An unknown coordinator has neither host nor port.
                if host.is_empty() || port <= 0 {
                    return Ok(None);
                }
                let edge = u16::try_from(port).ok().and_then(|port| addresses.edge(host, port));
                let none = || CloseReason::Edge { host: host.clone(), port };
                edge.map(|port| Some((HOST.to_owned(), port))).ok_or_else(none)
            });
            let others: Vec<_> = others.collect::<Result<_, _>>()?;
            if others.iter().all(Option::is_none) {
                return Ok(framed);
            }
            Ok(with_length(&named.replaced(frame, &others)))
        }
    }
}

fn with_length(frame: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(frame.len() + 4);
    framed.put_i32(i32::try_from(frame.len()).unwrap_or(i32::MAX));
    framed.put_slice(frame);
    framed.freeze()
}
