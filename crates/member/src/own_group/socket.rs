//! What both threads see of a connection: one of them waits on it, the other may close it.

use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tandem_neli::membership::RequestId;

/// A connection that either thread can close.
#[derive(Default)]
pub(super) struct Socket(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    state: State,
    /// Requests whose sender gave them up before they were sent.
    forgotten: Vec<RequestId>,
}

#[derive(Default)]
enum State {
    /// Not made yet.
    #[default]
    Absent,
    /// Made, and not good for requests yet.
    Shaking(TcpStream),
    /// Good for requests.
    Ready(TcpStream),
    /// Not wanted any more, or failed.
    Down,
}

impl Socket {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the connection, and with it every wait on it.
    pub(super) fn close(&self) {
        match std::mem::replace(&mut self.inner().state, State::Down) {
            State::Shaking(stream) | State::Ready(stream) => {
                // It may be closed already.
                stream.shutdown(Shutdown::Both).ok();
            }
            State::Absent | State::Down => {}
        }
    }

    /// Keeps the connection where it can be closed; false where it is not wanted any more.
    pub(super) fn opened(&self, stream: TcpStream) -> bool {
        let mut inner = self.inner();
        let wanted = matches!(inner.state, State::Absent);
        if wanted {
            inner.state = State::Shaking(stream);
        }
        wanted
    }

    /// Both sides have accepted each other.
    pub(super) fn ready(&self) {
        let mut inner = self.inner();
        inner.state = match std::mem::replace(&mut inner.state, State::Down) {
            State::Shaking(stream) => State::Ready(stream),
            other @ (State::Absent | State::Ready(_) | State::Down) => other,
        };
    }

    pub(super) fn is_down(&self) -> bool {
        matches!(self.inner().state, State::Down)
    }

    /// Forgets a request that waits for the connection to be ready; false where it may be sent
    /// already.
    pub(super) fn forget(&self, id: RequestId) -> bool {
        let mut inner = self.inner();
        let waits = matches!(inner.state, State::Shaking(_));
        if waits {
            inner.forgotten.push(id);
        }
        waits
    }

    /// Whether a request is not to be sent any more.
    pub(super) fn is_forgotten(&self, id: RequestId) -> bool {
        let mut inner = self.inner();
        let before = inner.forgotten.len();
        inner.forgotten.retain(|it| *it != id);
        inner.forgotten.len() < before
    }
}
