//! The way to servers that want TLS. The client `zookeeper-client` would bring another stack of TLS
//! with it, so it speaks in plain text to a door on the loopback, one for each server, and what
//! passes a door goes on over TLS. A door opens for this user and for root alone.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::host::Callers;
use crate::member::tls::Tls;

/// The longest that a connection to a server may take.
const WITHIN: Duration = Duration::from_secs(5);

/// The doors to some servers. They are closed with this value.
pub struct Tunnel {
    /// Their addresses, in the order of the servers: `host:port`, with commas.
    pub addresses: String,
    _doors: JoinSet<()>,
}

impl Tunnel {
    /// Opens a door to each of the servers, `host:port` with commas.
    ///
    /// # Errors
    /// The system refuses to listen.
    pub async fn open(servers: &str, tls: &Tls) -> io::Result<Self> {
        let (mut addresses, mut doors) = (Vec::new(), JoinSet::new());
        for server in servers.split(',') {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            addresses.push(listener.local_addr()?.to_string());
            doors.spawn(door(listener, Arc::from(server), tls.clone()));
        }
        Ok(Self { addresses: addresses.join(","), _doors: doors })
    }
}

/// Lets connections through to the server.
async fn door(listener: TcpListener, server: Arc<str>, tls: Tls) {
    let Ok(local) = listener.local_addr() else { return };
    let callers = Callers::of(local, []);
    let mut passing = JoinSet::new();
    while let Ok((stream, peer)) = listener.accept().await {
        while passing.try_join_next().is_some() {}
        if callers.admits(stream.local_addr(), peer) {
            passing.spawn(pass(stream, Arc::clone(&server), tls.clone()));
        }
    }
}

/// Carries both ways, until one end closes. Where the server cannot be reached, the client sees
/// that its connection ends.
async fn pass(mut near: TcpStream, server: Arc<str>, tls: Tls) {
    let connect = async {
        let stream = TcpStream::connect(&*server).await?;
        stream.set_nodelay(true)?;
        near.set_nodelay(true)?;
        tls.connect(stream, &server).await
    };
    let far =
        timeout(WITHIN, connect).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    match far {
        Ok(mut far) => drop(copy_bidirectional(&mut near, &mut far).await),
        Err(error) => tracing::debug!(%server, %error, "No connection over TLS."),
    }
}
