//! Accepts connections; each gets a task that ends with the broker.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::connection::converse;
use super::hub::Hub;
use super::kept::Kept;
use super::settings::BrokerSettings;
use tandem_host::Callers;

/// Why the broker cannot run.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// The address is in use or not permitted. Another address may work.
    #[error("cannot listen at {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The file for fences cannot be read or written. Another file may work.
    #[error("cannot keep fences in {}", file.display())]
    Fences {
        /// The file.
        file: PathBuf,
        /// The system's error, or what is wrong in the file.
        source: io::Error,
    },
}

/// A broker that listens but does not serve yet.
#[derive(Debug)]
pub struct Broker {
    listener: TcpListener,
    address: SocketAddr,
    settings: BrokerSettings,
    kept: Kept,
}

/// An input of the accept loop.
enum Input {
    Accepted(io::Result<(TcpStream, SocketAddr)>),
    Gone,
    Stop,
}

impl Broker {
    /// Binds the address; port 0 chooses any free port.
    ///
    /// # Errors
    ///
    /// The address cannot be bound, or the file for fences is no good.
    pub async fn bind(listen: SocketAddr, settings: BrokerSettings) -> Result<Self, BrokerError> {
        let failed = |source| BrokerError::Listen { address: listen, source };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let kept = Kept::open(settings.fences.as_deref()).map_err(|source| {
            BrokerError::Fences { file: settings.fences.clone().unwrap_or_default(), source }
        })?;
        Ok(Self { listener, address, settings, kept })
    }

    /// The address on which the broker listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is cancelled; then closes all connections.
    pub async fn serve(self, stop: CancellationToken) {
        tracing::info!(address = %self.address, seed = self.settings.seed, "The broker answers.");
        let most = self.settings.connections_max;
        let idle = self.settings.idle;
        let hub = Arc::new(Hub::new(self.settings, self.kept));
        let mut alarm = JoinSet::new();
        let watched = Arc::clone(&hub);
        alarm.spawn(async move { watched.watch().await });
        let mut connections = JoinSet::new();
        let callers = Callers::of(self.address, []);
        let mut number: u64 = 0;
        loop {
            match next(&self.listener, &mut connections, &stop).await {
                Input::Accepted(Ok((stream, peer)))
                    if !callers.admits(stream.local_addr(), peer) => {}
                Input::Accepted(Ok((stream, peer))) if connections.len() < most => {
                    number += 1;
                    connections.spawn(converse(Arc::clone(&hub), stream, peer, number, idle));
                }
                Input::Accepted(Ok((stream, peer))) => {
                    drop(stream);
                    tracing::warn!(%peer, most, "A connection was refused, there are too many.");
                }
                Input::Accepted(Err(error)) => {
                    tracing::warn!(%error, "A connection could not be accepted.");
                    // Most likely there are no more descriptors: wait until a connection ends.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Input::Gone => {}
                Input::Stop => break,
            }
        }
        tracing::info!("The broker stops.");
    }
}

/// All arms are cancel-safe. Stop comes first, so that a flood of connections cannot hide it.
async fn next(
    listener: &TcpListener,
    connections: &mut JoinSet<()>,
    stop: &CancellationToken,
) -> Input {
    tokio::select! {
        biased;
        () = stop.cancelled() => Input::Stop,
        Some(_) = connections.join_next() => Input::Gone,
        accepted = listener.accept() => Input::Accepted(accepted),
    }
}
