//! The connections of the sidecar, whose number is bounded.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::access::Ends;

/// The most open connections; others wait to be accepted.
const CONNECTIONS_MAX: usize = 256;
/// The wait after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) struct Bounded {
    listener: TcpListener,
    permits: Arc<Semaphore>,
    local: SocketAddr,
}

pub(super) struct Connection {
    stream: TcpStream,
    local: SocketAddr,
    _permit: OwnedSemaphorePermit,
}

impl Bounded {
    pub(super) fn new(listener: std::net::TcpListener) -> io::Result<Self> {
        let listener = TcpListener::from_std(listener)?;
        let local = listener.local_addr()?;
        Ok(Self { listener, permits: Arc::new(Semaphore::new(CONNECTIONS_MAX)), local })
    }
}

impl Listener for Bounded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            // The semaphore is never closed.
            let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else {
                std::future::pending::<()>().await;
                continue;
            };
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    stream.set_nodelay(true).ok();
                    // A wildcard listens on many; this one was reached.
                    let local = stream.local_addr().unwrap_or(self.local);
                    return (Connection { stream, local, _permit: permit }, peer);
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.local)
    }
}

impl Connected<IncomingStream<'_, Bounded>> for Ends {
    fn connect_info(stream: IncomingStream<'_, Bounded>) -> Self {
        Self { local: stream.io().local, peer: *stream.remote_addr() }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
