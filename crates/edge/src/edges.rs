//! The edges of all clients, by the addresses of the brokers to which they lead.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::limits::{AWAITED_MAX, CLIENT_EDGES_MAX, EDGES_MAX};
use super::rules::Concerned;
use super::tls::Security;
use tandem_facts::ids::{ClusterName, FaultId, MemberId};

/// The edge of one client to one broker.
#[derive(Debug)]
pub(super) struct Edge {
    pub client: MemberId,
    pub cluster: ClusterName,
    pub host: String,
    pub port: u16,
    /// The port on which the edge listens.
    pub listens: u16,
    /// The TLS settings towards the broker; none for a plain connection.
    pub security: Option<Security>,
    name: String,
    unreachable: AtomicBool,
    addresses: OnceLock<Vec<String>>,
    awaited: Mutex<Vec<Awaited>>,
}

/// A healed fault without an answer from the broker since.
#[derive(Debug)]
struct Awaited {
    fault: FaultId,
    apis: Option<BTreeSet<i16>>,
}

/// All edges.
#[derive(Debug, Default)]
pub(super) struct EdgeTable {
    clients: BTreeMap<(MemberId, ClusterName), BTreeMap<String, Arc<Edge>>>,
}

/// A broker's address as commands and answers write it.
pub(super) fn name(host: &str, port: u16) -> String {
    format!("{host}:{port}")
}

/// Parses `host:port`, an IPv6 address with or without brackets. A prefix up to `://` is ignored.
pub(super) fn address(text: &str) -> Option<(&str, u16)> {
    let text = text.trim();
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    let (host, port) = text.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = port.parse().ok().filter(|port| *port > 0)?;
    (!host.is_empty()).then_some((host, port))
}

impl Edge {
    pub(super) fn new(
        client: MemberId,
        cluster: ClusterName,
        (host, port): (&str, u16),
        listens: u16,
        security: Option<Security>,
    ) -> Self {
        let addresses = OnceLock::new();
        // An IP address needs no lookup.
        if let Ok(ip) = host.parse::<IpAddr>() {
            addresses.set(vec![SocketAddr::new(ip, port).to_string()]).ok();
        }
        let (name, awaited) = (name(host, port), Mutex::default());
        let host = host.to_owned();
        let unreachable = AtomicBool::new(false);
        Self {
            client,
            cluster,
            host,
            port,
            listens,
            security,
            name,
            unreachable,
            addresses,
            awaited,
        }
    }

    /// The address of the broker.
    pub(super) fn broker(&self) -> String {
        self.name.clone()
    }

    /// Records whether the broker is reachable. Returns whether that has changed.
    pub(super) fn is_reachable(&self, now: bool) -> bool {
        self.unreachable.swap(!now, Ordering::Relaxed) == now
    }

    /// The addresses to which the broker's name resolves, once they are known.
    pub(super) fn resolved(&self) -> Option<&[String]> {
        self.addresses.get().map(Vec::as_slice)
    }

    /// Sets the addresses to which the broker's name resolves.
    pub(super) fn resolves_to(&self, addresses: Vec<String>) {
        self.addresses.set(addresses).ok();
    }

    /// The properties by which rules select edges.
    pub(super) fn concerned(&self) -> Concerned<'_> {
        Concerned {
            client: &self.client,
            cluster: &self.cluster,
            broker: &self.name,
            addresses: self.resolved().unwrap_or_default(),
        }
    }

    /// A fault was lifted: wait for the first answer to one of these requests.
    pub(super) fn await_answer(&self, fault: &FaultId, apis: Option<BTreeSet<i16>>) {
        let mut awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        awaited.retain(|other| other.fault != *fault);
        if awaited.len() >= AWAITED_MAX {
            awaited.remove(0);
        }
        awaited.push(Awaited { fault: fault.clone(), apis });
    }

    /// The fault is in force again: do not wait any more.
    pub(super) fn await_no_more(&self, fault: &FaultId) {
        let mut awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        awaited.retain(|other| other.fault != *fault);
    }

    /// Answers to these requests have reached the client. Returns the faults whose first answer is
    /// among them.
    pub(super) fn reached(&self, apis: &[i16]) -> Vec<FaultId> {
        let mut awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        let met = |awaited: &mut Awaited| {
            let named = |apis: &BTreeSet<i16>, api: &i16| apis.contains(api);
            apis.iter().any(|api| awaited.apis.as_ref().is_none_or(|apis| named(apis, api)))
        };
        awaited.extract_if(.., met).map(|awaited| awaited.fault).collect()
    }
}

impl EdgeTable {
    /// The edge of a client to a broker.
    pub(super) fn find(
        &self,
        client: &MemberId,
        cluster: &ClusterName,
        broker: &str,
    ) -> Option<Arc<Edge>> {
        self.clients.get(&(client.clone(), cluster.clone()))?.get(broker).cloned()
    }

    /// Whether this client may have one more edge.
    pub(super) fn has_room(&self, client: &MemberId, cluster: &ClusterName) -> bool {
        let own = self.clients.get(&(client.clone(), cluster.clone())).map_or(0, BTreeMap::len);
        own < CLIENT_EDGES_MAX && self.all().count() < EDGES_MAX
    }

    pub(super) fn insert(&mut self, edge: Arc<Edge>) {
        let key = (edge.client.clone(), edge.cluster.clone());
        self.clients.entry(key).or_default().insert(edge.broker(), edge);
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Edge>> {
        self.clients.values().flat_map(BTreeMap::values)
    }
}
