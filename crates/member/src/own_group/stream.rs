//! The bytes of a connection, in plain text or over TLS, and why it failed.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use super::wire::Question;
use crate::kafka::Trouble;

/// The longest answer that is read.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// A connection to a broker. Shutting its socket down ends every wait on it.
pub(super) enum Stream {
    Plain(TcpStream),
    #[cfg(feature = "tls")]
    Tls(openssl::ssl::SslStream<TcpStream>),
}

/// Why a request was not answered.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The connection failed, or was closed.
    #[error("{0}")]
    Connection(#[from] io::Error),
    /// The broker does not accept this member, or this member not the broker.
    #[error("{0}")]
    Refused(Trouble),
}

impl Failure {
    /// The broker answered with something else than what it was asked.
    pub(super) fn nonsense() -> Self {
        Self::Connection(io::ErrorKind::InvalidData.into())
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream.flush(),
        }
    }
}

impl Stream {
    /// Sends a question and waits for its answer without a limit: closing the socket ends the wait.
    pub(super) fn exchange(&mut self, question: &Question) -> io::Result<Vec<u8>> {
        self.write_all(&question.frame)?;
        let mut length = [0; 4];
        self.read_exact(&mut length)?;
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length > ANSWER_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut answer = Vec::new();
        let wanted = u64::try_from(length).unwrap_or(u64::MAX);
        // Memory is reserved as bytes come, not as they are announced.
        if self.take(wanted).read_to_end(&mut answer)? < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(answer)
    }
}
