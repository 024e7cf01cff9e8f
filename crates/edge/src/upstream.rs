//! The connection to the broker: plain, or with TLS where the cluster requires it. The client's
//! connection is always plain, since it does not leave this machine.

use std::io;

use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::TcpStream;

/// A connection to a broker. Reads and writes never wait.
#[derive(Debug)]
pub(super) enum Upstream {
    /// Plain TCP.
    Plain(TcpStream),
    /// With TLS.
    #[cfg(feature = "tls")]
    Secured(Box<openssl::ssl::SslStream<super::tls::Socket>>),
}

impl Upstream {
    fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            #[cfg(feature = "tls")]
            Self::Secured(stream) => &stream.get_ref().0,
        }
    }

    /// Reads the available bytes.
    pub(super) fn try_read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.try_read(buffer),
            #[cfg(feature = "tls")]
            Self::Secured(stream) => io::Read::read(stream, buffer),
        }
    }

    /// Writes as much as possible. With TLS, part of the rest may have been sent already; the next
    /// call must begin with the same bytes.
    pub(super) fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.try_write(bytes),
            #[cfg(feature = "tls")]
            Self::Secured(stream) => io::Write::write(stream, bytes),
        }
    }

    /// Closes the sending direction.
    pub(super) async fn shut(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.shutdown().await,
            #[cfg(feature = "tls")]
            Self::Secured(stream) => {
                // The result does not matter: the TCP connection is closed next.
                stream.shutdown().ok();
                stream.get_mut().0.shutdown().await
            }
        }
    }

    /// Lets the connection end with a reset.
    pub(super) fn reset(&self) {
        self.socket().set_zero_linger().ok();
    }

    /// Waits until the connection is readable or writable.
    pub(super) async fn ready(&self, interest: Interest) {
        // Errors surface in the next read or write.
        drop(self.socket().ready(interest).await);
    }
}
