//! The scrape endpoint: answers Prometheus over HTTP, with bounds on everything.
//!
//! A connection carries one request; [`http`] bounds it in time and size. On the loopback, only
//! permitted users get an answer.

use std::io;
use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus::{Encoder, Registry, TextEncoder};
use tokio::net::{TcpListener, TcpStream};

use crate::host::Callers;
use crate::http::{self, Peer, from_elsewhere};
use crate::slots::Accepts;

/// The most open connections.
const CONNECTIONS_MAX: usize = 16;
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
    let listener = TcpListener::from_std(listener)?;
    let app = Router::new()
        .route("/metrics", get(move || std::future::ready(page(&registry))))
        .route("/", get(|| std::future::ready(pointer())));
    match http::serve(Permitted { listener, callers }, CONNECTIONS_MAX, app).await {}
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

/// A listener that lets permitted users in.
struct Permitted {
    listener: TcpListener,
    callers: Callers,
}

impl Accepts for Permitted {
    type Stream = TcpStream;
    type Peer = Scraper;

    async fn accept(&self) -> io::Result<(TcpStream, Scraper)> {
        loop {
            let (stream, peer) = self.listener.accept().await?;
            if self.callers.admits(stream.local_addr(), peer) {
                return Ok((stream, Scraper(peer.ip())));
            }
            // Best effort: whether the client reads it does not matter.
            stream.try_write(REFUSED.as_bytes()).ok();
        }
    }
}

/// Who scrapes.
#[derive(Debug, Clone)]
struct Scraper(IpAddr);

impl Peer for Scraper {
    type Who = IpAddr;

    fn who(&self) -> Option<IpAddr> {
        from_elsewhere(self.0)
    }
}
