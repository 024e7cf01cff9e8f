//! The bytes of a link on its socket, in plain text or over TLS. Nothing here waits.

use std::io::{self, Read, Write};
use std::net::TcpStream;

/// What is between the frames and the socket.
#[derive(Debug)]
pub(super) enum Session {
    Plain,
    #[cfg(feature = "tls")]
    Tls(Box<rustls::Connection>),
}

impl Session {
    /// As of a socket that does not block; 0 is the end.
    pub(super) fn read(&mut self, stream: &mut TcpStream, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain => stream.read(room),
            #[cfg(feature = "tls")]
            Self::Tls(session) => loop {
                match session.reader().read(room) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    // An end that TLS was not told of is an end as well: frames are whole or not.
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                    done @ (Ok(_) | Err(_)) => return done,
                }
                if session.read_tls(stream)? == 0 {
                    return Ok(0);
                }
                if let Err(error) = session.process_new_packets() {
                    // The other end learns why.
                    session.write_tls(stream).ok();
                    return Err(io::Error::new(io::ErrorKind::InvalidData, error));
                }
            },
        }
    }

    /// As of a socket that does not block.
    pub(super) fn write(&mut self, stream: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain => stream.write(bytes),
            #[cfg(feature = "tls")]
            Self::Tls(session) => {
                let written = session.writer().write(bytes)?;
                match send(session, stream) {
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                    Ok(()) | Err(_) => {}
                }
                // It has taken as much as it may hold.
                if written == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(written) }
            }
        }
    }

    /// Sends what it holds itself, as far as the kernel takes it.
    pub(super) fn flush(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        match self {
            Self::Plain => {
                let _none = stream;
                Ok(())
            }
            #[cfg(feature = "tls")]
            Self::Tls(session) => send(session, stream),
        }
    }

    /// Whether it holds bytes for the kernel.
    pub(super) fn is_waiting(&self) -> bool {
        match self {
            Self::Plain => false,
            #[cfg(feature = "tls")]
            Self::Tls(session) => session.wants_write(),
        }
    }
}

/// Sends what TLS holds for the kernel.
#[cfg(feature = "tls")]
fn send(session: &mut rustls::Connection, stream: &mut TcpStream) -> io::Result<()> {
    while session.wants_write() {
        session.write_tls(stream)?;
    }
    Ok(())
}
