//! TLS to a store: the properties of its cluster, named as those of Kafka are.

use std::collections::BTreeMap;

use super::super::Cluster;
use super::title;
use crate::yaml::{Cursor, Problem};

/// Whether a store other than etcd is reached over TLS, and its only value.
const PROTOCOL: (&str, &str) = ("security.protocol", "ssl");
const CA: &str = "ssl.ca.location";
const CERTIFICATE: &str = "ssl.certificate.location";
const KEY: &str = "ssl.key.location";

/// The problem of the properties of a store.
pub(super) fn problem(
    cluster: &Cluster,
    properties: &BTreeMap<String, String>,
    place: Cursor<'_>,
) -> Option<Problem> {
    let (by_scheme, encrypted) = match cluster {
        Cluster::Etcd(store) => (true, store.etcd.starts_with("https://")),
        Cluster::ZooKeeper(_) | Cluster::Nats(_) => (false, properties.contains_key(PROTOCOL.0)),
        Cluster::Embedded(_) | Cluster::Brokers(_) => return None,
    };
    let place = place.key("properties");
    let wrong = |name: &str, message: String, hint: String| {
        // A value may be a secret.
        Some(Problem::at(place.key(name).name(), message).hint(hint).unshown())
    };
    let on = if by_scheme {
        "write https:// before its addresses".to_owned()
    } else {
        format!("add `{}: {}`", PROTOCOL.0, PROTOCOL.1)
    };
    let known =
        |name: &str| [CA, CERTIFICATE, KEY].contains(&name) || (!by_scheme && name == PROTOCOL.0);
    if let Some(name) = properties.keys().find(|name| !known(name)) {
        let message = format!("a cluster of {} has no property `{name}`", title(cluster));
        return wrong(name, message, format!("`{CA}`, `{CERTIFICATE}` and `{KEY}`; for TLS, {on}"));
    }
    if properties.get(PROTOCOL.0).is_some_and(|value| !value.eq_ignore_ascii_case(PROTOCOL.1)) {
        let message = format!("`{}` of a store is `{}`", PROTOCOL.0, PROTOCOL.1);
        return wrong(PROTOCOL.0, message, "leave it out for a store without TLS".to_owned());
    }
    if let Some(name) = properties.keys().next().filter(|_| !encrypted) {
        return wrong(name, format!("`{name}` is for TLS"), on);
    }
    match (properties.contains_key(CERTIFICATE), properties.contains_key(KEY)) {
        (true, false) => {
            wrong(CERTIFICATE, "a certificate needs its key".to_owned(), format!("add `{KEY}`"))
        }
        (false, true) => {
            wrong(KEY, "a key needs its certificate".to_owned(), format!("add `{CERTIFICATE}`"))
        }
        (true, true) | (false, false) => None,
    }
}
