//! A listener that accepts as many connections at a time as it has slots; others wait.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The wait after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// What accepts connections.
pub trait Accepts {
    /// A connection.
    type Stream;
    /// Its other end.
    type Peer;

    /// The next connection.
    fn accept(&self) -> impl Future<Output = io::Result<(Self::Stream, Self::Peer)>> + Send;
}

impl Accepts for TcpListener {
    type Stream = TcpStream;
    type Peer = SocketAddr;

    async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        Self::accept(self).await
    }
}

impl Accepts for UnixListener {
    type Stream = UnixStream;
    type Peer = tokio::net::unix::SocketAddr;

    async fn accept(&self) -> io::Result<(UnixStream, Self::Peer)> {
        Self::accept(self).await
    }
}

/// A listener with a bounded number of open connections.
#[derive(Debug)]
pub struct Slots<L = TcpListener> {
    listener: L,
    permits: Arc<Semaphore>,
}

/// The place of an open connection, which is free once this is dropped.
#[derive(Debug)]
pub struct Slot(#[expect(dead_code, reason = "held, never read")] OwnedSemaphorePermit);

impl<L: Accepts> Slots<L> {
    /// `count` connections at a time on this listener.
    pub fn of(listener: L, count: usize) -> Self {
        Self { listener, permits: Arc::new(Semaphore::new(count)) }
    }

    /// The next connection, once there is a slot for it. Where there is none, `make_room` is called
    /// once before.
    pub async fn accept(&mut self, make_room: impl Fn()) -> (L::Stream, L::Peer, Slot) {
        loop {
            if self.permits.available_permits() == 0 {
                make_room();
            }
            // The semaphore is never closed.
            let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else {
                std::future::pending::<()>().await;
                continue;
            };
            match self.listener.accept().await {
                Ok((stream, peer)) => return (stream, peer, Slot(permit)),
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    #[tokio::test]
    async fn a_connection_waits_for_a_slot() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut slots = Slots::of(listener, 1);
        let _both = (TcpStream::connect(address).await, TcpStream::connect(address).await);
        let first = slots.accept(|| ()).await;
        // Nothing that comes later shows that none got in until then.
        let soon = Duration::from_millis(50);
        assert!(timeout(soon, slots.accept(|| ())).await.is_err(), "a second one got in");
        drop(first);
        timeout(Duration::from_secs(60), slots.accept(|| ())).await.unwrap();
    }
}
