//! Serves HTTP/1.1, with a bound on everything that a client can hold.
//!
//! ```text
//!  listener --> slot --> connection: header within 10 s, answer within 10 s, read within 10 s
//!                 |
//!                 none is free: every connection without a request ends now
//! ```
//!
//! A client that leaks connections is disconnected as soon as another one needs its place, so a
//! page for health answers beside any number of idle ones: one place is kept free. What is being
//! answered goes on, also for as long as a stream of events lasts; a peer that is not on the
//! loopback gets three quarters of the places at most.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::connect_info::ConnectInfo;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tower_service::Service;

use crate::slots::{Accepts, Slots};

/// How long a connection may be without a request, or take for its header.
const IDLE: Duration = Duration::from_secs(10);
/// How long a request may take until its answer begins, its body included.
const ANSWERED: Duration = Duration::from_secs(10);
/// How long an answer may wait to be read.
const READ: Duration = Duration::from_secs(10);
/// The most bytes of a header.
const HEADER_MAX: usize = 16 << 10;
/// How long a new connection keeps its place without a request.
const FRESH: Duration = Duration::from_millis(100);

/// The other end of a connection.
pub(crate) trait Peer: Clone + Send + Sync + 'static {
    /// Who it is, as far as bounds go.
    type Who: Ord + Clone + Send + Sync + 'static;

    /// Who it is; none if it stands for many, as the loopback does.
    fn who(&self) -> Option<Self::Who>;
}

/// The address of a peer that is not on the loopback.
pub(crate) fn from_elsewhere(peer: IpAddr) -> Option<IpAddr> {
    // A socket for both families maps those of the older one.
    let peer = peer.to_canonical();
    (!peer.is_loopback()).then_some(peer)
}

/// How many connections each peer has.
#[derive(Clone)]
struct Counts<W>(Arc<Mutex<BTreeMap<W, usize>>>);

impl<W: Ord + Clone> Counts<W> {
    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<W, usize>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// One more, if it has fewer than `most`.
    fn add(&self, who: &W, most: usize) -> Option<Counted<W>> {
        self.with(|counts| {
            let count = counts.entry(who.clone()).or_default();
            (*count < most).then(|| *count += 1)
        })?;
        Some(Counted { counts: Self(Arc::clone(&self.0)), who: who.clone() })
    }
}

/// A connection that counts until this is dropped.
struct Counted<W: Ord + Clone> {
    counts: Counts<W>,
    who: W,
}

impl<W: Ord + Clone> Drop for Counted<W> {
    fn drop(&mut self) {
        self.counts.with(|counts| {
            let left = counts.get(&self.who).map_or(0, |count| count.saturating_sub(1));
            // Peers come and go; those without a connection are forgotten.
            if left == 0 {
                counts.remove(&self.who);
            } else {
                counts.insert(self.who.clone(), left);
            }
        });
    }
}

/// Serves `router` on `listener`, with `most` connections at a time, until it is dropped. Handlers
/// learn the other end of the connection as [`ConnectInfo`].
pub(crate) async fn serve<L>(listener: L, most: usize, router: Router) -> Infallible
where
    L: Accepts<Peer: Peer, Stream: AsyncRead + AsyncWrite + Send + 'static> + Send,
{
    let mut slots = Slots::of(listener, most);
    let room = Room {
        crowd: Arc::new(watch::channel(()).0),
        counts: Counts(Arc::default()),
        each: (most - most / 4).max(1),
    };
    let mut connections = JoinSet::new();
    loop {
        let (stream, peer, slot) = slots.accept(|| room.make()).await;
        while connections.try_join_next().is_some() {}
        let (router, room, crowded) = (router.clone(), room.clone(), room.crowd.subscribe());
        connections.spawn(async move {
            let _slot = slot;
            let _counted = match peer.who() {
                None => None,
                // Without a place of its own the connection closes.
                Some(who) => match room.place(&who).await {
                    None => return,
                    counted => counted,
                },
            };
            if let Err(error) = converse(stream, peer, router, crowded).await {
                tracing::debug!(%error, "A connection ended.");
            }
        });
    }
}

/// The places of one listener.
#[derive(Clone)]
struct Room<W> {
    crowd: Arc<watch::Sender<()>>,
    counts: Counts<W>,
    /// The most connections of one peer.
    each: usize,
}

impl<W: Ord + Clone> Room<W> {
    /// Ends connections without a request.
    fn make(&self) {
        self.crowd.send_modify(|()| ());
    }

    /// A place for this peer, if its others leave one.
    async fn place(&self, who: &W) -> Option<Counted<W>> {
        if let Some(place) = self.counts.add(who, self.each) {
            return Some(place);
        }
        // Those without a request end, and this one holds up no other peer.
        self.make();
        sleep(2 * FRESH).await;
        self.counts.add(who, self.each)
    }
}

/// Answers requests until the client closes the connection, is too slow, or has no request when the
/// place of its connection is needed.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
    peer: impl Peer,
    router: Router,
    mut crowded: watch::Receiver<()>,
) -> hyper::Result<()> {
    let fresh = sleep(FRESH);
    let asked = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&asked);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(READ));
    let answer = service_fn(move |request| {
        seen.store(true, Ordering::Relaxed);
        answer(router.clone(), peer.clone(), request)
    });
    let mut builder = Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(IDLE).max_buf_size(HEADER_MAX);
    let connection = builder.serve_connection(TokioIo::new(Box::pin(stream)), answer);
    let mut connection = pin!(connection);
    let mut is_needed = pin!(async {
        // An error: the listener is gone.
        crowded.changed().await.ok();
        fresh.await;
    });
    tokio::select! {
        biased;
        ended = connection.as_mut() => return ended,
        // Half a first request keeps no place.
        () = is_needed.as_mut() => if !asked.load(Ordering::Relaxed) {
            return Ok(());
        },
    }
    connection.as_mut().graceful_shutdown();
    connection.await
}

async fn answer(
    mut router: Router,
    peer: impl Peer,
    mut request: Request<Incoming>,
) -> Result<Response, Infallible> {
    request.extensions_mut().insert(ConnectInfo(peer));
    match timeout(ANSWERED, router.call(request)).await {
        Ok(answer) => answer,
        Err(_) => Ok(StatusCode::REQUEST_TIMEOUT.into_response()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    impl Peer for SocketAddr {
        /// Each of these is one of its own.
        type Who = Self;

        fn who(&self) -> Option<Self> {
            Some(*self)
        }
    }

    const ASKED: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

    async fn served(most: usize) -> (SocketAddr, JoinSet<Infallible>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(|| std::future::ready("yes")));
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, most, router));
        (address, serving)
    }

    async fn asks(stream: &mut TcpStream) -> String {
        stream.write_all(ASKED).await.unwrap();
        let mut bytes = [0; 512];
        let count = stream.read(&mut bytes).await.unwrap();
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    }

    #[tokio::test]
    async fn idle_connections_make_room() {
        let (address, _serving) = served(4).await;
        let mut idle = Vec::new();
        for number in 0..12 {
            let mut one = TcpStream::connect(address).await.unwrap();
            if number % 2 == 0 {
                assert!(asks(&mut one).await.ends_with("yes"), "{number}");
            }
            idle.push(one);
        }
        let mut last = TcpStream::connect(address).await.unwrap();
        assert!(asks(&mut last).await.ends_with("yes"));
        // The first has been closed.
        assert_eq!(idle[0].read(&mut [0; 8]).await.unwrap(), 0);
    }

    #[test]
    fn a_peer_has_its_share_and_is_forgotten() {
        let counts = Counts(Arc::default());
        let held: Vec<_> = (0..2).map(|_| counts.add(&"a", 2).unwrap()).collect();
        assert!(counts.add(&"a", 2).is_none() && counts.add(&"b", 2).is_some());
        drop(held);
        assert!(counts.with(|counts| counts.is_empty()));
    }
}
