//! Bootstrap lists: `host:port`, separated by commas.
//!
//! Kafka's clients take an optional `PROTOCOL://` before each address, as in the
//! `advertised.listeners` of a broker, and tools hand lists out like that. It has to be the one of
//! `security.protocol`; what runs gets the address alone.

use super::stores::is_address;
use super::written::Brokers;
use crate::yaml::{Cursor, Problem};

/// The property that says how a client speaks to brokers.
const PROTOCOL: &str = "security.protocol";
/// What it says if it is not there.
const USUAL: &str = "PLAINTEXT";

/// The list without protocols.
pub(crate) fn addresses(list: &str) -> String {
    let parts: Vec<&str> = parts(list).map(|(_, address)| address).collect();
    parts.join(",")
}

/// The first address that cannot be used.
pub(super) fn problem(brokers: &Brokers, place: Cursor<'_>) -> Option<Problem> {
    let at = |message| Problem::at(place.key("bootstrap").origin(), message);
    let set = brokers.properties.get(PROTOCOL).map_or(USUAL, String::as_str);
    parts(&brokers.bootstrap).find_map(|(protocol, address)| {
        let other = protocol.filter(|one| !one.eq_ignore_ascii_case(set));
        if let Some(other) = other {
            let message = format!("{other}://{address} is not of the protocol {set}");
            let hint =
                format!("leave out {other}://, or set `properties: {{{PROTOCOL}: {other}}}`");
            return Some(at(message).hint(hint));
        }
        let hint = "write host:port, separate several with commas";
        let message = || format!("{address:?} is not an address of a broker");
        (!is_address(address)).then(|| at(message()).hint(hint))
    })
}

/// Each protocol, if one is named, and address.
fn parts(list: &str) -> impl Iterator<Item = (Option<&str>, &str)> {
    list.split(',').map(str::trim).map(|part| match part.split_once("://") {
        Some((protocol, address)) => (Some(protocol), address),
        None => (None, part),
    })
}
