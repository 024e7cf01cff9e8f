//! One connection: it waits until rules allow a connection to the broker, then carries bytes until
//! one side closes.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::watch;

use super::carrier::Carrier;
use super::edges::Edge;
use super::error::CloseReason;
use super::hub::{Hub, is_lifted};
use super::rules::{Active, Gate, Way, gate};
use super::upstream::Upstream;
use tandem_facts::ids::FaultId;

/// A broker that does not accept within this time is down.
const DIAL: Duration = Duration::from_secs(10);

/// An entry in the table of connections. It is removed on drop, after both sockets are closed: a
/// missing entry means that they are closed.
struct Entry {
    hub: Arc<Hub>,
    number: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.hub.with(|state| state.connections.leave(self.number));
    }
}

/// Carries a connection to its end.
pub(super) async fn carry(hub: Arc<Hub>, edge: Arc<Edge>, client: TcpStream, number: u64) {
    let entry = Entry { hub: Arc::clone(&hub), number };
    let outcome = match connect(&hub, &edge, &client, number).await {
        Ok(Some(broker)) => {
            let carrier = Carrier::new(hub, Arc::clone(&edge), number, client, broker);
            carrier.carry().await
        }
        Ok(None) => Ok(()),
        Err(outcome) => {
            client.set_zero_linger().ok();
            drop(client);
            Err(outcome)
        }
    };
    drop(entry);
    let (client, broker) = (&edge.client, edge.broker());
    match outcome {
        Ok(()) => tracing::debug!(%client, broker, "A connection was closed."),
        // A client reconnects again and again; one warning is enough.
        Err(CloseReason::Dial(error)) if edge.is_reachable(false) => {
            tracing::warn!(%client, broker, %error, "A broker cannot be reached.");
        }
        Err(error) => tracing::debug!(%client, broker, %error, "A connection was cut."),
    }
}

/// An input of a connection that has no broker yet.
enum Input {
    Changed,
    Readable,
}

/// Connects to the broker once rules allow it; none if the client closes before.
async fn connect(
    hub: &Hub,
    edge: &Edge,
    client: &TcpStream,
    number: u64,
) -> Result<Option<Upstream>, CloseReason> {
    client.set_nodelay(true).map_err(CloseReason::Io)?;
    let mut changes = hub.changes();
    let mut lost_by = BTreeSet::new();
    loop {
        changes.borrow_and_update();
        let rules = hub.with(|state| state.rules_of(edge));
        if is_lifted(&lost_by, &rules) {
            return Err(CloseReason::Reset);
        }
        let (shut, lossy) = obstacles(&rules)?;
        if !shut && lossy.is_empty() {
            match dial_while_open(hub, edge, &mut changes).await? {
                Some(broker) => return Ok(Some(broker)),
                None => continue,
            }
        }
        let input = tokio::select! {
            biased;
            _ = changes.changed() => Input::Changed,
            _ = client.readable(), if !lossy.is_empty() => Input::Readable,
        };
        match input {
            Input::Changed => {}
            Input::Readable => match client.try_read(&mut hub.scratch()) {
                // No broker has seen this connection, so none needs to see its end.
                Ok(0) => return Ok(None),
                Ok(_) => {
                    lost_by.extend(lossy);
                    hub.with(|state| {
                        if let Some(connection) = state.connections.of(number) {
                            connection.lost_by.clone_from(&lost_by);
                        }
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(CloseReason::Io(error)),
            },
        }
    }
}

/// Whether rules block a direction, and the faults whose rules lose its bytes. A connection needs
/// both directions.
fn obstacles(rules: &[Active]) -> Result<(bool, BTreeSet<FaultId>), CloseReason> {
    let (mut shut, mut lossy) = (false, BTreeSet::new());
    for way in [Way::ToBroker, Way::ToClient] {
        match gate(rules, way) {
            Gate::Open => {}
            Gate::Shut => shut = true,
            Gate::Lossy(faults) => lossy.extend(faults),
            Gate::Reset => return Err(CloseReason::Reset),
        }
    }
    Ok((shut, lossy))
}

/// Connects to the broker; none if a change of rules forbids it meanwhile.
async fn dial_while_open(
    hub: &Hub,
    edge: &Edge,
    changes: &mut watch::Receiver<u64>,
) -> Result<Option<Upstream>, CloseReason> {
    let mut dialled = std::pin::pin!(dial(edge));
    loop {
        tokio::select! {
            broker = &mut dialled => return broker.map(Some),
            _ = changes.changed() => {}
        }
        let (shut, lossy) = obstacles(&hub.with(|state| state.rules_of(edge)))?;
        if shut || !lossy.is_empty() {
            return Ok(None);
        }
    }
}

async fn dial(edge: &Edge) -> Result<Upstream, CloseReason> {
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    match tokio::time::timeout(DIAL, reach(edge)).await.map_err(late) {
        Ok(Ok(upstream)) => {
            edge.is_reachable(true);
            Ok(upstream)
        }
        Ok(Err(error)) | Err(error) => Err(CloseReason::Dial(error)),
    }
}

async fn reach(edge: &Edge) -> io::Result<Upstream> {
    let socket = TcpStream::connect((edge.host.as_str(), edge.port)).await?;
    socket.set_nodelay(true)?;
    match &edge.security {
        None => Ok(Upstream::Plain(socket)),
        #[cfg(feature = "tls")]
        Some(security) => {
            Ok(Upstream::Secured(Box::new(security.secure(&edge.host, socket).await?)))
        }
        #[cfg(not(feature = "tls"))]
        Some(never) => match *never {},
    }
}
