//! One connection: it waits for a way to its broker, and is carried until one side ends it.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::watch;

use super::book::Edge;
use super::carrier::Carrier;
use super::error::Parting;
use super::hub::{Hub, is_lifted};
use super::rules::{Active, Gate, Way, gate};
use super::upstream::Upstream;
use tandem_facts::ids::FaultId;

/// A broker that does not accept within this is down.
const DIAL: Duration = Duration::from_secs(10);

/// Leaves the list of connections when it is dropped: after both sockets, so that whoever finds it
/// gone knows that they are closed.
struct Entry {
    hub: Arc<Hub>,
    number: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.hub.with(|state| state.standings.leave(self.number));
    }
}

/// Carries a connection to its end.
pub(super) async fn carry(hub: Arc<Hub>, edge: Arc<Edge>, client: TcpStream, number: u64) {
    let entry = Entry { hub: Arc::clone(&hub), number };
    let parting = match connect(&hub, &edge, &client, number).await {
        Ok(Some(broker)) => {
            let carrier = Carrier::new(hub, Arc::clone(&edge), number, client, broker);
            carrier.carry().await
        }
        Ok(None) => Ok(()),
        Err(parting) => {
            client.set_zero_linger().ok();
            drop(client);
            Err(parting)
        }
    };
    drop(entry);
    let (client, broker) = (&edge.client, edge.broker());
    match parting {
        Ok(()) => tracing::debug!(%client, broker, "A connection was closed."),
        // A client tries again and again; once is enough to say.
        Err(Parting::Dial(error)) if edge.is_reachable(false) => {
            tracing::warn!(%client, broker, %error, "A broker cannot be reached.");
        }
        Err(error) => tracing::debug!(%client, broker, %error, "A connection was cut."),
    }
}

/// What a connection without a broker waits for.
enum Input {
    Changed,
    Readable,
}

/// Connects to the broker once the way there is open; none where the client is gone before.
async fn connect(
    hub: &Hub,
    edge: &Edge,
    client: &TcpStream,
    number: u64,
) -> Result<Option<Upstream>, Parting> {
    client.set_nodelay(true).map_err(Parting::Io)?;
    let mut changes = hub.changes();
    let mut lost_by = BTreeSet::new();
    loop {
        changes.borrow_and_update();
        let rules = hub.with(|state| state.rules_of(edge));
        if is_lifted(&lost_by, &rules) {
            return Err(Parting::Reset);
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
                // No broker has heard of it, so none must hear that it is gone.
                Ok(0) => return Ok(None),
                Ok(_) => {
                    lost_by.extend(lossy);
                    hub.with(|state| {
                        if let Some(standing) = state.standings.of(number) {
                            standing.lost_by.clone_from(&lost_by);
                        }
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(Parting::Io(error)),
            },
        }
    }
}

/// Whether a way is shut, and by whom bytes would be lost: a connection needs both ways.
fn obstacles(rules: &[Active]) -> Result<(bool, BTreeSet<FaultId>), Parting> {
    let (mut shut, mut lossy) = (false, BTreeSet::new());
    for way in [Way::ToBroker, Way::ToClient] {
        match gate(rules, way) {
            Gate::Open => {}
            Gate::Shut => shut = true,
            Gate::Lossy(faults) => lossy.extend(faults),
            Gate::Reset => return Err(Parting::Reset),
        }
    }
    Ok((shut, lossy))
}

/// Connects; none where the rules have changed meanwhile so that there may be no way.
async fn dial_while_open(
    hub: &Hub,
    edge: &Edge,
    changes: &mut watch::Receiver<u64>,
) -> Result<Option<Upstream>, Parting> {
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

async fn dial(edge: &Edge) -> Result<Upstream, Parting> {
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    match tokio::time::timeout(DIAL, reach(edge)).await.map_err(late) {
        Ok(Ok(upstream)) => {
            edge.is_reachable(true);
            Ok(upstream)
        }
        Ok(Err(error)) | Err(error) => Err(Parting::Dial(error)),
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
