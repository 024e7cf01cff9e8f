//! One connection to a broker: a thread that carries one request at a time.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use super::wire::{Question, Speaker, Versions};
use tandem_neli::membership::{Request, RequestId, Response};

/// The longest answer that is read.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// The longest wait for a connection; the core gives up earlier.
const CONNECT: Duration = Duration::from_secs(10);

/// Where a broker listens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
}

impl Address {
    /// The addresses of a bootstrap list.
    pub(super) fn list(bootstrap: &str) -> Vec<Self> {
        let address = |text: &str| {
            let (host, port) = text.trim().rsplit_once(':')?;
            let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
            Some(Self { host, port: port.parse().ok()? })
        };
        bootstrap.split(',').filter_map(address).collect()
    }
}

/// The outcome of a request: a response, or none if the connection failed.
pub(super) struct Answer {
    pub(super) id: RequestId,
    pub(super) response: Option<Response>,
}

/// The member's side of a connection. Dropping it closes the connection.
pub(super) struct Line {
    address: Address,
    jobs: SyncSender<(RequestId, Request)>,
    busy: Option<RequestId>,
    socket: Arc<Socket>,
}

/// The state that both threads share.
#[derive(Default)]
struct Socket(Mutex<State>);

#[derive(Default)]
enum State {
    /// Not made yet.
    #[default]
    Absent,
    /// Made.
    Open(TcpStream),
    /// Closed or failed.
    Down,
}

impl Socket {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the connection, and with it every wait for an answer on it.
    fn close(&self) {
        if let State::Open(stream) = std::mem::replace(&mut *self.state(), State::Down) {
            // It may be closed already.
            stream.shutdown(Shutdown::Both).ok();
        }
    }

    /// Stores the connection so that it can be closed; false if it is closed already.
    fn opened(&self, stream: TcpStream) -> bool {
        let mut state = self.state();
        let wanted = matches!(*state, State::Absent);
        if wanted {
            *state = State::Open(stream);
        }
        wanted
    }
}

impl Line {
    /// Prepares a connection; its thread connects at the first request.
    pub(super) fn open(address: Address, speaker: Arc<Speaker>, answers: Sender<Answer>) -> Self {
        let (jobs, received) = sync_channel(1);
        let socket = Arc::new(Socket::default());
        let (to, shared) = (address.clone(), Arc::clone(&socket));
        let carrier = Carrier { address: to, socket: shared, speaker, answers };
        let thread = Builder::new().name("group".to_owned());
        // If no thread starts, the receiver is dropped and sending fails.
        thread.spawn(move || carrier.carry(&received)).ok();
        Self { address, jobs, busy: None, socket }
    }

    pub(super) const fn address(&self) -> &Address {
        &self.address
    }

    /// Hands over a request; false if the thread has ended.
    pub(super) fn send(&mut self, id: RequestId, request: Request) -> bool {
        self.busy = Some(id);
        self.jobs.try_send((id, request)).is_ok()
    }

    pub(super) fn carries(&self, id: RequestId) -> bool {
        self.busy == Some(id)
    }

    /// The request was answered.
    pub(super) const fn free(&mut self) {
        self.busy = None;
    }

    pub(super) const fn is_busy(&self) -> bool {
        self.busy.is_some()
    }

    pub(super) fn is_idle_to(&self, address: &Address) -> bool {
        self.busy.is_none() && self.address == *address && !self.is_down()
    }

    pub(super) fn is_down(&self) -> bool {
        matches!(*self.socket.state(), State::Down)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.socket.close();
    }
}

/// The thread's side of a connection.
struct Carrier {
    address: Address,
    socket: Arc<Socket>,
    speaker: Arc<Speaker>,
    answers: Sender<Answer>,
}

impl Carrier {
    /// Carries requests until the member drops its side, or the connection fails.
    fn carry(self, jobs: &Receiver<(RequestId, Request)>) {
        let mut spoken: Option<(TcpStream, Versions)> = None;
        while let Ok((id, request)) = jobs.recv() {
            let response = self.ask(&mut spoken, &request);
            if let Err(error) = &response {
                let address = format!("{}:{}", self.address.host, self.address.port);
                tracing::debug!(%error, address, "A connection to a coordinator failed.");
                // Closed before the answer goes out: its receiver then drops the connection.
                self.socket.close();
            }
            let response = response.ok();
            let failed = response.is_none();
            // Sending fails once the member is gone.
            if self.answers.send(Answer { id, response }).is_err() || failed {
                return;
            }
        }
    }

    fn ask(
        &self,
        spoken: &mut Option<(TcpStream, Versions)>,
        request: &Request,
    ) -> io::Result<Response> {
        let (stream, versions) = match spoken {
            Some(spoken) => spoken,
            None => spoken.insert(self.connect()?),
        };
        let Some(question) = self.speaker.question(request, versions) else {
            return Ok(Speaker::too_old());
        };
        let answer = exchange(stream, &question)?;
        self.speaker.response(&question, answer).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Connects, and asks for the versions that the broker supports.
    fn connect(&self) -> io::Result<(TcpStream, Versions)> {
        let Address { host, port } = &self.address;
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in (host.as_str(), *port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(mut stream) => {
                    stream.set_nodelay(true)?;
                    if !self.socket.opened(stream.try_clone()?) {
                        return Err(io::ErrorKind::ConnectionAborted.into());
                    }
                    let answer = exchange(&mut stream, &self.speaker.which_versions())?;
                    let versions = Versions::read(answer);
                    let versions =
                        versions.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
                    return Ok((stream, versions));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// Sends a question and waits for its answer without a limit: closing the socket ends the wait.
fn exchange(stream: &mut TcpStream, question: &Question) -> io::Result<Vec<u8>> {
    stream.write_all(&question.frame)?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length > ANSWER_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut answer = Vec::new();
    let wanted = u64::try_from(length).unwrap_or(u64::MAX);
    // Memory grows with the bytes that arrive: the announced length is not trusted.
    if stream.take(wanted).read_to_end(&mut answer)? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bootstrap_lists_are_read_as_clients_read_them() {
        let of = |host: &str, port| Address { host: host.to_owned(), port };
        let list = Address::list("a:1, b.example:9092,[::1]:9093,c");
        assert_eq!(list, [of("a", 1), of("b.example", 9092), of("::1", 9093)]);
    }
}
