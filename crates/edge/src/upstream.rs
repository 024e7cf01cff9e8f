//! The side of a connection that leads to the broker: as it is, or secured where the cluster wants
//! that. The client's side never is: it ends on this machine.

use std::io;

use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::TcpStream;

/// A connection to a broker. Neither reading nor writing ever waits.
#[derive(Debug)]
pub(super) enum Upstream {
    /// As it is.
    Plain(TcpStream),
    /// Behind TLS.
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

    /// Reads what is there.
    pub(super) fn try_read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.try_read(buffer),
            #[cfg(feature = "tls")]
            Self::Secured(stream) => io::Read::read(stream, buffer),
        }
    }

    /// Writes what can be written. Behind TLS, a part of what was not may have left already; the
    /// rest of that leaves with the next call, which must begin with the same bytes.
    pub(super) fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.try_write(bytes),
            #[cfg(feature = "tls")]
            Self::Secured(stream) => io::Write::write(stream, bytes),
        }
    }

    /// Says that nothing more comes.
    pub(super) async fn shut(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.shutdown().await,
            #[cfg(feature = "tls")]
            Self::Secured(stream) => {
                // A courtesy: what matters is the end of the connection.
                stream.shutdown().ok();
                stream.get_mut().0.shutdown().await
            }
        }
    }

    /// It will end by a reset.
    pub(super) fn reset(&self) {
        self.socket().set_zero_linger().ok();
    }

    /// Until it can be read or written.
    pub(super) async fn ready(&self, interest: Interest) {
        // An error shows itself when it is read or written.
        drop(self.socket().ready(interest).await);
    }
}
