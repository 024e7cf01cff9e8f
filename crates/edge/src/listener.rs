//! Accepts the connections of an edge; each gets a task that ends with it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as Std};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::task::JoinSet;

use super::connection::carry;
use super::edges::{self, Edge};
use super::hub::Hub;
use super::rewrite::Addresses;
use super::tls::Security;
use tandem_facts::ids::{ClusterName, MemberId};
use tandem_host::Callers;

/// The timeout of a name lookup.
pub(super) const RESOLVE: Duration = Duration::from_secs(5);

/// Why an edge cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error("the client has too many edges, or all clients together have")]
    Many,
    #[error("an edge cannot listen")]
    Listen(#[source] io::Error),
}

/// The edge of a client to a broker. Opens it if it does not exist.
///
/// # Errors
/// There are too many edges, or the edge cannot listen.
pub(super) fn open(
    hub: &Arc<Hub>,
    client: &MemberId,
    cluster: &ClusterName,
    (host, port): (&str, u16),
    security: Option<&Security>,
) -> Result<Arc<Edge>, OpenError> {
    let name = edges::name(host, port);
    let found = hub.with(|state| match state.edges.find(client, cluster, &name) {
        Some(edge) => Ok(Some(edge)),
        None if state.edges.has_room(client, cluster) => Ok(None),
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
    hub.with(|state| state.edges.insert(Arc::clone(&edge)));
    hub.tasks().spawn(serve(Arc::clone(hub), Arc::clone(&edge), listener));
    Ok(edge)
}

/// The edges of one client, opened when answers contain new brokers.
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
                tracing::warn!(%client, host, port, %error, "Cannot open an edge to a broker.");
                None
            }
        }
    }
}

/// The addresses to which a name resolves; none if the lookup fails or takes too long.
pub(super) async fn resolve(host: &str, port: u16) -> Vec<String> {
    match tokio::time::timeout(RESOLVE, lookup_host((host, port))).await {
        Ok(Ok(found)) => found.map(|address| address.to_string()).collect(),
        Ok(Err(_)) | Err(_) => Vec::new(),
    }
}

/// Resolves the name of the edge's broker, so that rules can select it by other names.
pub(super) async fn learn(hub: &Hub, edge: &Edge) {
    if edge.resolved().is_some() {
        return;
    }
    let found = resolve(&edge.host, edge.port).await;
    if found.is_empty() {
        tracing::warn!(broker = edge.broker(), "The name of a broker resolves to no address.");
    } else {
        // Connections check the rules again.
        hub.change(|_| edge.resolves_to(found));
    }
}

/// An input of an edge's loop.
enum Input {
    Accepted(io::Result<(TcpStream, SocketAddr)>),
    Gone,
}

async fn serve(hub: Arc<Hub>, edge: Arc<Edge>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    // An edge may add its owner's certificate or password, so only the owner may connect.
    let callers = Callers::of(SocketAddr::from((Ipv4Addr::LOCALHOST, edge.listens)), []);
    learn(&hub, &edge).await;
    loop {
        match next(&listener, &mut connections).await {
            Input::Accepted(Ok((stream, peer))) if !callers.admits(stream.local_addr(), peer) => {}
            Input::Accepted(Ok((stream, _))) => {
                let number = hub.with(|state| state.connections.enter(&edge));
                if let Some(number) = number {
                    connections.spawn(carry(Arc::clone(&hub), Arc::clone(&edge), stream, number));
                } else {
                    let (client, broker) = (&edge.client, edge.broker());
                    tracing::warn!(%client, broker, "A connection was closed: too many are open.");
                }
            }
            Input::Accepted(Err(error)) => {
                tracing::warn!(%error, "A connection could not be accepted.");
                // Most likely there are no more descriptors: wait until a connection ends.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Input::Gone => {}
        }
    }
}

/// Waits for the next input. Both arms are cancel-safe.
async fn next(listener: &TcpListener, connections: &mut JoinSet<()>) -> Input {
    tokio::select! {
        biased;
        Some(_) = connections.join_next() => Input::Gone,
        accepted = listener.accept() => Input::Accepted(accepted),
    }
}
