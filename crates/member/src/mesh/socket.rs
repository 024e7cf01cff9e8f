//! One connection of the mesh. It never blocks: what the kernel does not take waits, in bounds.

use std::io;
use std::net::{SocketAddr, TcpStream};

use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};

use super::frame::{FRAME_MOST, frame, take_frame};
use super::session::Session;
use tandem_facts::time::Mono;
use tandem_neli::mesh::Process;

/// The most bytes that wait for a slow reader; then the link ends.
const WAITING_MOST: usize = 256 * 1024;
/// What one turn reads from one connection at most.
const READ_MOST: usize = 256 * 1024;
/// The longest greeting: a stranger may say no more. Names have at most 249 bytes each.
const GREETING_MOST: usize = 2 * 1024;

/// How far a connection is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// Being made, to this life.
    Connecting { to: Process, until: Mono },
    /// Made; the greeting of the other end is awaited. `to` is the life that was dialed.
    Greeting { to: Option<Process>, until: Mono },
    /// Both ends have greeted.
    Linked,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) stream: TcpStream,
    pub(super) stage: Stage,
    session: Session,
    /// Whether its first frame has arrived.
    greeted: bool,
    read: Vec<u8>,
    waiting: Vec<u8>,
}

impl Socket {
    /// Begins to connect.
    pub(super) fn dial(
        (address, session): (SocketAddr, Session),
        to: Process,
        until: Mono,
    ) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        match connect(&socket, &address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        Self::over((TcpStream::from(socket), session), Stage::Connecting { to, until })
    }

    /// A connection that was accepted.
    pub(super) fn accepted(
        (stream, session): (TcpStream, Session),
        until: Mono,
    ) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Self::over((stream, session), Stage::Greeting { to: None, until })
    }

    fn over((stream, session): (TcpStream, Session), stage: Stage) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let (read, waiting) = (Vec::new(), Vec::new());
        Ok(Self { stream, stage, session, greeted: false, read, waiting })
    }

    /// Whether the kernel has made the connection; an error if it could not.
    pub(super) fn connected(&self) -> io::Result<()> {
        match sockopt::socket_error(&self.stream)? {
            Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a frame, now or as soon as the kernel takes it.
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.waiting.extend(frame(bytes));
        self.flush()?;
        if self.waiting.len() > WAITING_MOST {
            return Err(io::Error::new(io::ErrorKind::WouldBlock, "the reader is too slow"));
        }
        Ok(())
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty() || self.session.is_waiting()
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            match self.session.write(&mut self.stream, &self.waiting) {
                Ok(written) => drop(self.waiting.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        match self.session.flush(&mut self.stream) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            done @ (Ok(()) | Err(_)) => done,
        }
    }

    /// All whole frames that have arrived, and whether the connection has ended after them.
    pub(super) fn frames(&mut self) -> (Vec<Vec<u8>>, bool) {
        let mut frames = Vec::new();
        let mut room = [0; 16 * 1024];
        let mut total = 0;
        while total < READ_MOST {
            match self.session.read(&mut self.stream, &mut room) {
                Ok(0) => return (frames, true),
                Ok(count) => {
                    total += count;
                    self.read.extend(room.get(..count).unwrap_or_default());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return (frames, true),
            }
            loop {
                let most = if self.greeted { FRAME_MOST } else { GREETING_MOST };
                match take_frame(&mut self.read, most) {
                    Ok(Some(frame)) => {
                        self.greeted = true;
                        frames.push(frame);
                    }
                    Ok(None) => break,
                    Err(why) => {
                        tracing::debug!(why, "A link of the mesh is closed.");
                        return (frames, true);
                    }
                }
            }
        }
        // A handshake may have an answer by now.
        let broken = self.flush().is_err();
        (frames, broken)
    }
}
