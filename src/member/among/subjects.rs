//! What members say to each other over NATS: each has a subject of its own, to which the others
//! publish. A message is the sender's place (16 bits, big-endian) and a [`Frame`]. Core subjects
//! keep nothing: a message that finds no subscriber is lost.
//!
//! While the member has no connection, what it says is dropped: it would be old when the others
//! hear it, and the core says everything again that still counts. The crate `async-nats` would keep
//! it, and has tokio and bytes compiled with more features; five words of the protocol suffice.

use std::io;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_rustls::client::TlsStream;
use tokio_util::bytes::Bytes;
use tokio_util::codec::Framed;

use super::wire::{Codec, Said, Says};
use super::{AmongConfig, Input, Nats, VotesError};
use crate::member::tls::Tls;
use crate::neli::elections::among::{Frame, Peer};

/// The most messages that wait for the connection.
const WAITING: usize = 1_024;
/// The longest time that a connection may take, or a word on it.
const PATIENCE: Duration = Duration::from_secs(1);
/// The wait before a server is asked again, first and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));
/// So many pings in a row without an answer end a connection.
const UNANSWERED: u32 = 2;
/// How long a leaving member waits until its last messages are with the server.
const FAREWELL: Duration = Duration::from_millis(200);

/// The subjects of one group.
pub(super) struct Subjects {
    sends: Sender<(Peer, Frame)>,
    tasks: JoinSet<()>,
    runtime: Runtime,
}

impl Subjects {
    /// Connects, and goes on trying where that fails.
    pub(super) fn start(
        nats: &Nats,
        config: &AmongConfig,
        me: Peer,
        inputs: &SyncSender<Input>,
    ) -> Result<Self, VotesError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("nats")
            .enable_all()
            .build()
            .map_err(VotesError::Thread)?;
        let subject = |member| format!("{}.{member}", nats.subject);
        let client = Client {
            name: config.life.to_string(),
            servers: nats.servers.split(',').map(str::to_owned).collect(),
            subjects: config.members.iter().map(subject).collect(),
            tls: Tls::of(&nats.properties).map_err(VotesError::Trust)?,
            me,
            pings: config.session / 2,
            inputs: inputs.clone(),
        };
        let (sends, received) = channel(WAITING);
        let mut tasks = JoinSet::new();
        tasks.spawn_on(client.carry(received), runtime.handle());
        Ok(Self { sends, tasks, runtime })
    }

    /// Sends a message, if there is room for it.
    pub(super) fn send(&self, to: Peer, message: Frame) {
        self.sends.try_send((to, message)).ok();
    }

    /// Gives the last messages a moment to leave, and ends the connection.
    pub(super) fn end(self) {
        let Self { sends, mut tasks, runtime } = self;
        drop(sends);
        let all = async move { while tasks.join_next().await.is_some() {} };
        runtime.block_on(async { timeout(FAREWELL, all).await }).ok();
        // Its thread may wait for room at the member's, which takes no more.
        runtime.shutdown_background();
    }
}

/// Plain, or over TLS.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

type Connection = Framed<Box<dyn Duplex>, Codec>;

/// The member's connection to NATS.
struct Client {
    name: String,
    servers: Vec<String>,
    tls: Option<Tls>,
    /// The subject of each member.
    subjects: Vec<String>,
    me: Peer,
    /// The time between two pings.
    pings: Duration,
    inputs: SyncSender<Input>,
}

impl Client {
    /// Carries messages both ways, over one connection after the other, until no more can come.
    async fn carry(self, mut received: Receiver<(Peer, Frame)>) {
        let mut wait = AGAIN.0;
        for server in self.servers.iter().cycle() {
            if received.is_closed() && received.is_empty() {
                return;
            }
            match timeout(PATIENCE, self.connect(server)).await {
                Ok(Ok(mut connection)) => {
                    wait = AGAIN.0;
                    // What waited for the connection may be old.
                    while received.try_recv().is_ok() {}
                    self.report(true);
                    let ended = self.pass(&mut connection, &mut received).await;
                    self.report(false);
                    match ended {
                        Ok(()) => return,
                        Err(error) => tracing::debug!(%server, %error, "A connection has ended."),
                    }
                }
                Ok(Err(error)) => tracing::debug!(%server, %error, "No connection."),
                Err(_) => tracing::debug!(%server, "No answer."),
            }
            sleep(wait).await;
            wait = (wait * 2).min(AGAIN.1);
        }
    }

    /// A connection on which the member's subject is subscribed to.
    async fn connect(&self, server: &str) -> io::Result<Connection> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        let stream: Box<dyn Duplex> = match &self.tls {
            Some(tls) => Box::new(secured(tls, stream, server).await?),
            None => Box::new(stream),
        };
        let mut connection = Framed::new(stream, Codec::default());
        let own = self.subject(self.me).cloned().unwrap_or_default();
        connection.feed(Says::Connect { name: self.name.clone(), tls: self.tls.is_some() }).await?;
        connection.feed(Says::Subscribe(own)).await?;
        connection.send(Says::Ping).await?;
        // It answers when it has done what came before.
        loop {
            match next(&mut connection).await? {
                Said::Pong => return Ok(connection),
                Said::Ping => connection.send(Says::Pong).await?,
                Said::Refused(why) => return Err(io::Error::other(why)),
                Said::Info => {}
                Said::Message(message) => {
                    self.heard(&message);
                }
            }
        }
    }

    /// Returns at the end of the messages; the connection's end is an error.
    async fn pass(
        &self,
        connection: &mut Connection,
        received: &mut Receiver<(Peer, Frame)>,
    ) -> io::Result<()> {
        let mut pings = interval(self.pings);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut unanswered = 0;
        loop {
            let says = tokio::select! {
                biased;
                message = received.recv() => match message {
                    Some((to, frame)) => self.publish(to, frame),
                    None => return Ok(()),
                },
                said = next(connection) => match said? {
                    Said::Message(message) if self.heard(&message) => None,
                    Said::Message(_) => return Ok(()),
                    Said::Ping => Some(Says::Pong),
                    Said::Pong => {
                        unanswered = 0;
                        None
                    }
                    Said::Refused(why) => return Err(io::Error::other(why)),
                    Said::Info => None,
                },
                _ = pings.tick() => {
                    if unanswered >= UNANSWERED {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    unanswered += 1;
                    Some(Says::Ping)
                }
            };
            if let Some(says) = says {
                timeout(PATIENCE, connection.send(says)).await??;
            }
        }
    }

    fn publish(&self, to: Peer, frame: Frame) -> Option<Says> {
        let mut message = self.me.0.to_be_bytes().to_vec();
        message.extend_from_slice(&frame);
        self.subject(to).map(|subject| Says::Publish(subject.clone(), Bytes::from(message)))
    }

    /// Passes a message on; with false, that no more are wanted.
    fn heard(&self, message: &[u8]) -> bool {
        let said = message.split_first_chunk().and_then(|(from, frame)| {
            let (from, frame) = (Peer(u16::from_be_bytes(*from)), Frame::try_from(frame).ok()?);
            (from != self.me && self.subject(from).is_some()).then_some((from, frame))
        });
        let Some((from, frame)) = said else {
            tracing::warn!("An odd message was dropped.");
            return true;
        };
        tracing::trace!(?from, ?frame, "A message.");
        self.inputs.send(Input::Heard(from, frame)).is_ok()
    }

    fn subject(&self, peer: Peer) -> Option<&String> {
        self.subjects.get(usize::from(peer.0))
    }

    /// With a connection it reaches all that have one.
    fn report(&self, linked: bool) {
        for (peer, _) in (0..).map(Peer).zip(&self.subjects) {
            if peer != self.me {
                self.inputs.send(Input::Linked(peer, linked)).ok();
            }
        }
    }
}

/// A server says what it is in plain text, and wants TLS from then on.
async fn secured(tls: &Tls, stream: TcpStream, server: &str) -> io::Result<TlsStream<TcpStream>> {
    let mut plain = Framed::new(stream, Codec::default());
    let Said::Info = next(&mut plain).await? else {
        return Err(io::Error::other("it does not begin with what it is"));
    };
    let parts = plain.into_parts();
    if !parts.read_buf.is_empty() {
        return Err(io::Error::other("it says more in plain text"));
    }
    tls.connect(parts.io, server).await
}

async fn next<S: AsyncRead + Unpin>(connection: &mut Framed<S, Codec>) -> io::Result<Said> {
    connection.next().await.unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()))
}
