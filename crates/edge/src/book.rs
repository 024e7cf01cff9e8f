//! The edges of all clients, by the addresses of the brokers to which they lead.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::limits::{AWAITED_MAX, CLIENT_EDGES_MAX, EDGES_MAX};
use super::rules::Concerned;
use super::tls::Security;
use tandem_facts::ids::{ClusterName, FaultId, MemberId};

/// The way of one client to one broker.
#[derive(Debug)]
pub(super) struct Edge {
    pub client: MemberId,
    pub cluster: ClusterName,
    pub host: String,
    pub port: u16,
    /// Where the client finds it.
    pub listens: u16,
    /// How it speaks to its broker.
    pub security: Option<Security>,
    name: String,
    unreachable: AtomicBool,
    addresses: OnceLock<Vec<String>>,
    awaited: Mutex<Vec<Awaited>>,
}

/// A healed fault whose first answer has not been seen yet.
#[derive(Debug)]
struct Awaited {
    fault: FaultId,
    apis: Option<BTreeSet<i16>>,
}

/// All edges.
#[derive(Debug, Default)]
pub(super) struct Book {
    clients: BTreeMap<(MemberId, ClusterName), BTreeMap<String, Arc<Edge>>>,
}

/// A broker's address as orders and answers write it.
pub(super) fn name(host: &str, port: u16) -> String {
    format!("{host}:{port}")
}

/// `host:port`, an IPv6 address in brackets or not; what stands before `://` does not matter.
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
        // An address that is no name need not be asked for.
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

    /// The address of its broker.
    pub(super) fn broker(&self) -> String {
        self.name.clone()
    }

    /// Whether its broker can be reached now; whether that is news.
    pub(super) fn is_reachable(&self, now: bool) -> bool {
        self.unreachable.swap(!now, Ordering::Relaxed) == now
    }

    /// What its broker's name stands for.
    pub(super) fn resolved(&self) -> Option<&[String]> {
        self.addresses.get().map(Vec::as_slice)
    }

    /// The name of its broker stands for these.
    pub(super) fn resolves_to(&self, addresses: Vec<String>) {
        self.addresses.set(addresses).ok();
    }

    /// What rules look at.
    pub(super) fn concerned(&self) -> Concerned<'_> {
        Concerned {
            client: &self.client,
            cluster: &self.cluster,
            broker: &self.name,
            addresses: self.resolved().unwrap_or_default(),
        }
    }

    /// A fault was lifted; its first answer, to one of these requests, is waited for.
    pub(super) fn await_answer(&self, fault: &FaultId, apis: Option<BTreeSet<i16>>) {
        let mut awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        awaited.retain(|other| other.fault != *fault);
        if awaited.len() >= AWAITED_MAX {
            awaited.remove(0);
        }
        awaited.push(Awaited { fault: fault.clone(), apis });
    }

    /// A fault is in force again.
    pub(super) fn await_no_more(&self, fault: &FaultId) {
        let mut awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        awaited.retain(|other| other.fault != *fault);
    }

    /// Answers to these requests have reached the client; the faults for which they are the first.
    pub(super) fn reached(&self, apis: &[i16]) -> Vec<FaultId> {
        let mut awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
        let met = |awaited: &mut Awaited| {
            let named = |apis: &BTreeSet<i16>, api: &i16| apis.contains(api);
            apis.iter().any(|api| awaited.apis.as_ref().is_none_or(|apis| named(apis, api)))
        };
        awaited.extract_if(.., met).map(|awaited| awaited.fault).collect()
    }
}

impl Book {
    /// The edge of a client to a broker.
    pub(super) fn find(
        &self,
        client: &MemberId,
        cluster: &ClusterName,
        broker: &str,
    ) -> Option<Arc<Edge>> {
        self.clients.get(&(client.clone(), cluster.clone()))?.get(broker).cloned()
    }

    /// Whether this client may have one more.
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
