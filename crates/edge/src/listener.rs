//! An edge listens, and gives each connection a task that ends with it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as Std};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::task::JoinSet;

use super::book::{self, Edge};
use super::connection::carry;
use super::hub::Hub;
use super::rewrite::Addresses;
use super::tls::Security;
use tandem_facts::ids::{ClusterName, MemberId};
use tandem_host::Callers;

/// A name is asked for that long.
pub(super) const RESOLVE: Duration = Duration::from_secs(5);

/// Why there is no edge.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error("a client has too many edges, or all together have")]
    Many,
    #[error("an edge cannot listen")]
    Listen(#[source] io::Error),
}

/// The edge of a client to a broker, opened where there is none yet.
///
/// # Errors
/// Where there are too many, or none can listen.
pub(super) fn open(
    hub: &Arc<Hub>,
    client: &MemberId,
    cluster: &ClusterName,
    (host, port): (&str, u16),
    security: Option<&Security>,
) -> Result<Arc<Edge>, OpenError> {
    let name = book::name(host, port);
    let found = hub.with(|state| match state.book.find(client, cluster, &name) {
        Some(edge) => Ok(Some(edge)),
        None if state.book.has_room(client, cluster) => Ok(None),
        None => Err(OpenError::Many),
    })?;
    if let Some(edge) = found {
        return Ok(edge);
    }
    let listen = || {
        let listener = Std::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        listener.set_nonblocking(true)?;
        let listens = listener.local_addr()?.port();
        Ok((TcpListener::from_std(listener)?, listens))
    };
    let (listener, listens) = listen().map_err(OpenError::Listen)?;
    let edge = Edge::new(client.clone(), cluster.clone(), (host, port), listens, security.cloned());
    let edge = Arc::new(edge);
    tracing::debug!(%client, %cluster, broker = name, listens, "An edge is open.");
    hub.with(|state| state.book.insert(Arc::clone(&edge)));
    hub.tasks().spawn(serve(Arc::clone(hub), Arc::clone(&edge), listener));
    Ok(edge)
}

/// The edges of one client, opened as answers name brokers.
pub(super) struct Edges<'a> {
    pub hub: &'a Arc<Hub>,
    pub edge: &'a Edge,
}

impl Addresses for Edges<'_> {
    fn edge(&mut self, host: &str, port: u16) -> Option<u16> {
        let (client, cluster) = (&self.edge.client, &self.edge.cluster);
        let security = self.edge.security.as_ref();
        match open(self.hub, client, cluster, (host, port), security) {
            Ok(edge) => Some(edge.listens),
            Err(error) => {
                tracing::warn!(%client, host, port, %error, "There can be no edge to a broker.");
                None
            }
        }
    }
}

/// What a name stands for; nothing where nobody knows within the time.
pub(super) async fn resolve(host: &str, port: u16) -> Vec<String> {
    match tokio::time::timeout(RESOLVE, lookup_host((host, port))).await {
        Ok(Ok(found)) => found.map(|address| address.to_string()).collect(),
        Ok(Err(_)) | Err(_) => Vec::new(),
    }
}

/// Learns under which other names rules may mean this edge's broker.
pub(super) async fn learn(hub: &Hub, edge: &Edge) {
    if edge.resolved().is_some() {
        return;
    }
    let found = resolve(&edge.host, edge.port).await;
    if found.is_empty() {
        tracing::warn!(broker = edge.broker(), "The name of a broker stands for no address.");
    } else {
        // Connections look at the rules again.
        hub.change(|_| edge.resolves_to(found));
    }
}

/// What an edge wakes for.
enum Input {
    Accepted(io::Result<(TcpStream, SocketAddr)>),
    Gone,
}

async fn serve(hub: Arc<Hub>, edge: Arc<Edge>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    // Behind an edge there may be a certificate or a password: it is its owner's alone.
    let callers = Callers::of(SocketAddr::from((Ipv4Addr::LOCALHOST, edge.listens)), []);
    learn(&hub, &edge).await;
    loop {
        match next(&listener, &mut connections).await {
            Input::Accepted(Ok((stream, peer))) if !callers.admits(stream.local_addr(), peer) => {}
            Input::Accepted(Ok((stream, _))) => {
                let number = hub.with(|state| state.standings.enter(&edge));
                if let Some(number) = number {
                    connections.spawn(carry(Arc::clone(&hub), Arc::clone(&edge), stream, number));
                } else {
                    let (client, broker) = (&edge.client, edge.broker());
                    tracing::warn!(%client, broker, "A connection was closed: too many are open.");
                }
            }
            Input::Accepted(Err(error)) => {
                tracing::warn!(%error, "A connection could not be accepted.");
                // Out of descriptors, most likely: some connection must end first.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Input::Gone => {}
        }
    }
}

/// Both arms may be dropped at any time.
async fn next(listener: &TcpListener, connections: &mut JoinSet<()>) -> Input {
    tokio::select! {
        biased;
        Some(_) = connections.join_next() => Input::Gone,
        accepted = listener.accept() => Input::Accepted(accepted),
    }
}
