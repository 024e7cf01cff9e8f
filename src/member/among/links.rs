//! The connections between the members of a group: each dials each other one, and says on that
//! connection what it has to say. Frames are a length (32 bits, big-endian) and so many bytes: the
//! first names the sender, each other one is a [`Frame`].
//!
//! A message that finds no room, or no connection, is lost: the core says everything again that
//! still counts.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::bytes::Bytes;
use tokio_util::codec::{Framed, LengthDelimitedCodec};

use super::folder::Folder;
use super::{Input, VotesError};
use crate::ids::MemberId;
use crate::neli::elections::among::{Frame, Peer};
use crate::slots::{Slot, Slots};

/// The longest frame: a name, or a message.
const FRAME_MOST: usize = 255;
/// The most messages that wait for one peer.
const WAITING: usize = 1_024;
/// The wait before a peer is dialed again, first and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));
/// How long a connection may take to name its sender.
const GREETING: Duration = Duration::from_secs(1);
/// How long a leaving member waits until its last messages are with the kernel.
const FAREWELL: Duration = Duration::from_millis(200);

/// The connections of one member.
pub(super) struct Links {
    peers: Vec<Option<Sender<Frame>>>,
    /// Accepts; it ends with this value.
    #[expect(dead_code, reason = "held, never read")]
    listens: JoinSet<()>,
    senders: JoinSet<()>,
    runtime: Runtime,
    folder: Arc<Folder>,
}

impl Links {
    /// Listens, and dials the others.
    pub(super) fn start(
        folder: &Folder,
        members: &[MemberId],
        me: Peer,
        inputs: &SyncSender<Input>,
    ) -> Result<Self, VotesError> {
        let folder = Arc::new(folder.again().map_err(VotesError::Thread)?);
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("links")
            .enable_all()
            .build()
            .map_err(VotesError::Thread)?;
        let own = folder.socket(folder.member());
        // Of an earlier life, which is over: its lock is ours.
        std::fs::remove_file(&own).ok();
        let listen = || {
            let _in_runtime = runtime.enter();
            UnixListener::bind(&own)
        };
        let refused = |source| VotesError::Folder { path: own.clone(), source };
        // A peer that starts anew may dial before its former connection has ended.
        let slots = Slots::of(listen().map_err(refused)?, members.len().saturating_mul(2));
        let names: Arc<[MemberId]> = members.to_vec().into();
        let (mut listens, mut senders) = (JoinSet::new(), JoinSet::new());
        listens.spawn_on(accept(slots, Arc::clone(&names), inputs.clone()), runtime.handle());
        let peers = (0..).map(Peer).zip(names.iter()).map(|(peer, _)| {
            let (sender, messages) = channel(WAITING);
            let dial = Dial {
                folder: Arc::clone(&folder),
                names: Arc::clone(&names),
                peer,
                inputs: inputs.clone(),
            };
            (peer != me).then(|| {
                senders.spawn_on(dial.carry(messages), runtime.handle());
                sender
            })
        });
        Ok(Self { peers: peers.collect(), listens, senders, runtime, folder })
    }

    /// Sends a message, if there is room for it.
    pub(super) fn send(&self, to: Peer, message: Frame) {
        if let Some(Some(peer)) = self.peers.get(usize::from(to.0)) {
            peer.try_send(message).ok();
        }
    }

    /// Gives the last messages a moment to leave, and ends all connections.
    pub(super) fn end(mut self) {
        // A sender ends when its queue does.
        self.peers.clear();
        let mut senders = std::mem::take(&mut self.senders);
        let all = async move { while senders.join_next().await.is_some() {} };
        self.runtime.block_on(async { timeout(FAREWELL, all).await }).ok();
        std::fs::remove_file(self.folder.socket(self.folder.member())).ok();
        // Its thread may wait for room at the member's, which takes no more.
        self.runtime.shutdown_background();
    }
}

fn codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().max_frame_length(FRAME_MOST).new_codec()
}

/// Accepts the connections of the others.
async fn accept(mut slots: Slots<UnixListener>, names: Arc<[MemberId]>, inputs: SyncSender<Input>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _, slot) = slots.accept(|| ()).await;
        while connections.try_join_next().is_some() {}
        connections.spawn(hear(stream, slot, Arc::clone(&names), inputs.clone()));
    }
}

/// Passes the messages of one connection on, until it ends.
async fn hear(stream: UnixStream, slot: Slot, names: Arc<[MemberId]>, inputs: SyncSender<Input>) {
    let _until_the_end = slot;
    let me = rustix::process::geteuid().as_raw();
    if !stream.peer_cred().is_ok_and(|peer| peer.uid() == me) {
        return tracing::warn!("A connection of another user was closed.");
    }
    let mut frames = Framed::new(stream, codec());
    let Ok(Some(Ok(name))) = timeout(GREETING, frames.next()).await else { return };
    let sender = names.iter().position(|member| member.as_str().as_bytes() == &name[..]);
    let Some(from) = sender.and_then(|sender| u16::try_from(sender).ok()) else {
        return tracing::warn!("A connection of a stranger was closed.");
    };
    while let Some(Ok(frame)) = frames.next().await {
        let Ok(message) = Frame::try_from(&frame[..]) else {
            return tracing::warn!("A connection with an odd message was closed.");
        };
        tracing::trace!(from, ?message, "A message.");
        if inputs.send(Input::Heard(Peer(from), message)).is_err() {
            return;
        }
    }
}

/// The way to one peer.
struct Dial {
    folder: Arc<Folder>,
    names: Arc<[MemberId]>,
    peer: Peer,
    inputs: SyncSender<Input>,
}

impl Dial {
    /// Carries messages to the peer, over one connection after the other, until no more can come.
    async fn carry(self, mut messages: Receiver<Frame>) {
        let mut wait = AGAIN.0;
        while !messages.is_closed() || !messages.is_empty() {
            if let Ok(mut frames) = self.connect().await {
                wait = AGAIN.0;
                // What waited for the connection may be old.
                while messages.try_recv().is_ok() {}
                self.report(true);
                let ended = self.pass(&mut frames, &mut messages).await;
                self.report(false);
                if ended {
                    return;
                }
            }
            sleep(wait).await;
            wait = (wait * 2).min(AGAIN.1);
        }
    }

    async fn connect(&self) -> io::Result<Framed<UnixStream, LengthDelimitedCodec>> {
        let odd = || io::Error::from(io::ErrorKind::NotFound);
        let peer = self.names.get(usize::from(self.peer.0)).ok_or_else(odd)?;
        let stream = UnixStream::connect(self.folder.socket(peer)).await?;
        let mut frames = Framed::new(stream, codec());
        let name = self.folder.member().as_str().to_owned();
        frames.send(Bytes::from(name)).await?;
        Ok(frames)
    }

    /// Returns at the end of the connection, or, with true, at the end of the messages.
    async fn pass(
        &self,
        frames: &mut Framed<UnixStream, LengthDelimitedCodec>,
        messages: &mut Receiver<Frame>,
    ) -> bool {
        loop {
            tokio::select! {
                biased;
                message = messages.recv() => {
                    let Some(message) = message else { return true };
                    if frames.send(Bytes::copy_from_slice(&message)).await.is_err() {
                        return false;
                    }
                }
                // The peer says nothing here: this is the end.
                _ = frames.next() => return false,
            }
        }
    }

    fn report(&self, linked: bool) {
        self.inputs.send(Input::Linked(self.peer, linked)).ok();
    }
}
