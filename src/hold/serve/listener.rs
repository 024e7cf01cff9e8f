//! The connections of the sidecar, whose number is bounded.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use super::access::Ends;
use crate::http::{Peer, from_elsewhere};
use crate::slots::Accepts;

/// The most open connections.
pub(super) const CONNECTIONS_MAX: usize = 256;

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

/// A socket that is served.
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, #[expect(dead_code, reason = "held, never read")] Removed),
}

pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
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

impl Listener {
    pub(super) fn new(socket: Socket) -> io::Result<Self> {
        Ok(match socket {
            Socket::Tcp(listener) => Self::Tcp(TcpListener::from_std(listener)?),
            Socket::Unix(listener, removed) => {
                Self::Unix(UnixListener::from_std(listener)?, removed)
            }
        })
    }
}

impl Accepts for Listener {
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
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept().await?;
                let user = stream.peer_cred()?.uid();
                Ok((Stream::Unix(stream), Ends::Unix { user }))
            }
        }
    }
}

impl Peer for Ends {
    type Who = IpAddr;

    fn who(&self) -> Option<IpAddr> {
        match self {
            Self::Tcp { peer, .. } => from_elsewhere(peer.ip()),
            // Of this user, or root.
            Self::Unix { .. } => None,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, into),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Unix(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
