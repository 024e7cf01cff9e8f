//! The scrape endpoint: answers Prometheus over HTTP, with bounds on everything.
//!
//! A connection carries one request and lives at most ten seconds. The number of connections and
//! the bytes read of a request are bounded. On the loopback, only permitted users get an answer.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::Listener;
use prometheus::{Encoder, Registry, TextEncoder};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use crate::host::Callers;
use crate::slots::{Slot, Slots};

/// The most open connections; others wait to be accepted.
const CONNECTIONS_MAX: usize = 16;
/// How long a connection may live.
const LIFE: Duration = Duration::from_secs(10);
/// The most bytes read from a connection.
const READ_MAX: usize = 16 << 10;
/// The answer to other users of this machine.
const REFUSED: &str = "HTTP/1.1 403 Forbidden\r\nContent-Length: 55\r\nConnection: close\r\n\r\n\
    Not permitted: allow this user with --metrics-user ID.\n";

/// The scrape endpoint, and the users who may scrape.
#[derive(Debug)]
pub struct Scrape {
    listener: std::net::TcpListener,
    address: SocketAddr,
    callers: Callers,
}

/// Binds the address exclusively. On the loopback only the user who runs this and root may scrape;
/// elsewhere everyone who can reach the address.
///
/// # Errors
/// The address is in use, or cannot be bound.
pub fn bind(address: SocketAddr) -> io::Result<Scrape> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok(Scrape { listener, address, callers: Callers::of(address, []) })
}

impl Scrape {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Also permits these users of this machine.
    #[must_use]
    pub fn with_users(self, users: impl IntoIterator<Item = u32>) -> Self {
        Self { callers: Callers::of(self.address, users), ..self }
    }
}

/// Serves the metrics of `registry`, until it is dropped.
pub(super) async fn serve(scrape: Scrape, registry: Registry) -> io::Result<()> {
    let Scrape { listener, callers, .. } = scrape;
    let slots = Slots::new(listener, CONNECTIONS_MAX)?;
    let app = Router::new()
        .route("/metrics", get(move || std::future::ready(page(&registry))))
        .route("/", get(|| std::future::ready(pointer())));
    axum::serve(Bounded { slots, callers }, app).await
}

fn pointer() -> Response {
    closing("Tandem. The metrics are at /metrics.\n".into_response())
}

fn page(registry: &Registry) -> Response {
    let encoder = TextEncoder::new();
    let mut text = Vec::new();
    let answer = match encoder.encode(&registry.gather(), &mut text) {
        Ok(()) => {
            let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
            (kind, text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    };
    closing(answer)
}

/// Closes the connection after the answer, so that its timeout never hits a second request.
fn closing(mut answer: Response) -> Response {
    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    answer
}

/// A listener that limits the number of open connections, and who may connect.
struct Bounded {
    slots: Slots,
    callers: Callers,
}

impl Listener for Bounded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            let (stream, peer, slot) = self.slots.accept().await;
            if self.callers.admits(stream.local_addr(), peer) {
                let life = Box::pin(tokio::time::sleep(LIFE));
                return (Connection { stream, life, left: READ_MAX, _slot: slot }, peer);
            }
            // Best effort: whether the client reads it does not matter.
            stream.try_write(REFUSED.as_bytes()).ok();
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.slots.local_addr()
    }
}

/// A connection that ends when its time is over, or when it has sent too much.
struct Connection {
    stream: TcpStream,
    life: Pin<Box<Sleep>>,
    left: usize,
    _slot: Slot,
}

impl Connection {
    fn over(&mut self, context: &mut Context<'_>) -> Option<io::Error> {
        let over = self.life.as_mut().poll(context).is_ready();
        over.then(|| io::Error::from(io::ErrorKind::TimedOut))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(error) = self.over(context) {
            return Poll::Ready(Err(error));
        }
        if self.left == 0 {
            return Poll::Ready(Err(io::Error::from(io::ErrorKind::InvalidData)));
        }
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, into);
        self.left = self.left.saturating_sub(into.filled().len().saturating_sub(before));
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Some(error) = self.over(context) {
            return Poll::Ready(Err(error));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
