//! The connections of the sidecar, whose number is bounded.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use super::access::Ends;
use crate::slots::{Accepts, Slot, Slots};

/// The most open connections; others wait to be accepted.
const CONNECTIONS_MAX: usize = 256;

/// A socket that listens, not served yet.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener, Removed),
}

/// The file of a socket, which is removed with this value.
#[derive(Debug)]
pub(super) struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

enum Kind {
    Tcp(TcpListener),
    Unix(UnixListener),
}

pub(super) struct Bounded {
    slots: Slots<Kind>,
    _removed: Option<Removed>,
}

pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

pub(super) struct Connection {
    stream: Stream,
    _slot: Slot,
}

/// Listens at `path`, where nothing is or the socket of a process that has ended. Only this user
/// and root may connect.
pub(super) fn bind_unix(path: &Path) -> io::Result<Socket> {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        fs::remove_file(path)?;
    }
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    let removed = Removed(path.to_owned());
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(Socket::Unix(listener, removed))
}

impl Bounded {
    pub(super) fn new(socket: Socket) -> io::Result<Self> {
        let (listener, removed) = match socket {
            Socket::Tcp(listener) => (Kind::Tcp(TcpListener::from_std(listener)?), None),
            Socket::Unix(listener, removed) => {
                (Kind::Unix(UnixListener::from_std(listener)?), Some(removed))
            }
        };
        Ok(Self { slots: Slots::of(listener, CONNECTIONS_MAX), _removed: removed })
    }
}

impl Accepts for Kind {
    type Stream = Stream;
    type Peer = Ends;

    async fn accept(&self) -> io::Result<(Stream, Ends)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                stream.set_nodelay(true).ok();
                // A wildcard listens on many; this one was reached.
                let local = stream.local_addr()?;
                Ok((Stream::Tcp(stream), Ends::Tcp { local, peer }))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let user = stream.peer_cred()?.uid();
                Ok((Stream::Unix(stream), Ends::Unix { user }))
            }
        }
    }
}

impl Listener for Bounded {
    type Io = Connection;
    type Addr = Ends;

    async fn accept(&mut self) -> (Connection, Ends) {
        let (stream, ends, slot) = self.slots.accept().await;
        (Connection { stream, _slot: slot }, ends)
    }

    fn local_addr(&self) -> io::Result<Ends> {
        match self.slots.listener() {
            Kind::Tcp(listener) => {
                let local: SocketAddr = listener.local_addr()?;
                Ok(Ends::Tcp { local, peer: local })
            }
            Kind::Unix(_) => Ok(Ends::Unix { user: rustix::process::getuid().as_raw() }),
        }
    }
}

impl Connected<IncomingStream<'_, Bounded>> for Ends {
    fn connect_info(stream: IncomingStream<'_, Bounded>) -> Self {
        *stream.remote_addr()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(context, into),
            Stream::Unix(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Stream::Unix(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
