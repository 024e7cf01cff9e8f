//! One connection to a broker: a thread that carries one request at a time.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use super::security::Security;
use super::socket::Socket;
use super::stream::{Failure, Stream};
use super::wire::{Speaker, Versions};
use tandem_facts::time::Mono;
use tandem_neli::membership::{Request, RequestId, Response};

/// The longest wait for a connection; the core gives up earlier.
const CONNECT: Duration = Duration::from_secs(10);
/// How much of a session of SASL is used before the next begins, in percent.
const SESSION_USED: u32 = 80;
/// The most requests that are given up and wait for that.
const FORGOTTEN_MAX: usize = 64;

/// Where a broker listens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
}

impl Address {
    /// The addresses of a bootstrap list, without the protocol that Kafka's clients allow there.
    pub(super) fn list(bootstrap: &str) -> Vec<Self> {
        let address = |text: &str| {
            let text = text.split_once("://").map_or(text, |(_, address)| address);
            let (host, port) = text.trim().rsplit_once(':')?;
            let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
            Some(Self { host, port: port.parse().ok()? })
        };
        bootstrap.split(',').filter_map(address).collect()
    }
}

/// The outcome of a request: a response, or why the connection failed.
pub(super) struct Answer {
    pub(super) id: RequestId,
    pub(super) response: Result<Response, Broken>,
}

/// Why a connection failed, without secrets.
#[derive(Clone)]
pub(super) struct Broken {
    pub(super) address: String,
    pub(super) why: String,
    /// One side does not accept the other, so another attempt fails as well, until that changes.
    pub(super) refused: bool,
}

/// The member's side of a connection. Dropping it closes the connection.
pub(super) struct Line {
    address: Address,
    jobs: SyncSender<(RequestId, Request)>,
    busy: Option<RequestId>,
    socket: Arc<Socket>,
    opened: Mono,
    /// How long its handshakes may take, although the request that waits for them is given up.
    handshakes: Duration,
}

impl Line {
    /// Prepares a connection; its thread connects at the first request.
    pub(super) fn open(
        address: Address,
        speaker: Arc<Speaker>,
        security: Arc<Security>,
        answers: Sender<Answer>,
    ) -> Self {
        let (jobs, received) = sync_channel(FORGOTTEN_MAX);
        let handshakes = security.handshakes;
        let socket = Arc::new(Socket::default());
        let (to, shared) = (address.clone(), Arc::clone(&socket));
        let carrier = Carrier { address: to, socket: shared, speaker, security, answers };
        let thread = Builder::new().name("group".to_owned());
        // If no thread starts, the receiver is dropped and sending fails.
        thread.spawn(move || carrier.carry(&received)).ok();
        Self { address, jobs, busy: None, socket, opened: Mono::now(), handshakes }
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

    /// Gives its request up; false where the connection is to be closed.
    pub(super) fn forget(&mut self, id: RequestId) -> bool {
        let may_be_good = Mono::now().since(self.opened) < self.handshakes;
        let forgotten = may_be_good && self.socket.forget(id);
        if forgotten {
            self.busy = None;
        }
        forgotten
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
        self.socket.is_down()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.socket.close();
    }
}

/// The thread's side of a connection.
pub(super) struct Carrier {
    pub(super) address: Address,
    pub(super) socket: Arc<Socket>,
    pub(super) speaker: Arc<Speaker>,
    pub(super) security: Arc<Security>,
    pub(super) answers: Sender<Answer>,
}

/// A connection that was made.
pub(super) struct Spoken {
    pub(super) stream: Stream,
    pub(super) versions: Versions,
    /// When to authenticate again.
    until: Option<Mono>,
}

impl Carrier {
    /// Carries requests until the member drops its side, or the connection fails.
    fn carry(self, jobs: &Receiver<(RequestId, Request)>) {
        let mut spoken: Option<Spoken> = None;
        while let Ok((id, request)) = jobs.recv() {
            let response = match self.prepare(&mut spoken) {
                Ok(_) if self.socket.is_forgotten(id) => continue,
                Ok(spoken) => self.ask(spoken, &request),
                Err(failure) => Err(failure),
            };
            let response = response.map_err(|failure| {
                // Closed before the answer goes out: its receiver then drops the connection.
                self.socket.close();
                self.broken(failure)
            });
            let broken = response.as_ref().err().cloned();
            // Sending fails once the member is gone.
            if self.answers.send(Answer { id, response }).is_err() {
                return;
            }
            if let Some(broken) = broken {
                // What was sent meanwhile fails with it.
                for (id, _) in jobs.try_iter() {
                    let response = Err(broken.clone());
                    self.answers.send(Answer { id, response }).ok();
                }
                return;
            }
        }
    }

    /// The text of a failure, without secrets.
    pub(super) fn shown(&self, failure: Failure) -> String {
        self.broken(failure).why
    }

    fn broken(&self, failure: Failure) -> Broken {
        let failure = self.security.explain(failure);
        let Address { host, port } = &self.address;
        Broken {
            address: format!("{host}:{port}"),
            why: self.security.shown(&failure),
            refused: matches!(failure, Failure::Refused(_)),
        }
    }

    /// A connection that is good for a request.
    fn prepare<'a>(&self, spoken: &'a mut Option<Spoken>) -> Result<&'a mut Spoken, Failure> {
        let spoken = match spoken {
            Some(spoken) => spoken,
            None => spoken.insert(self.connect()?),
        };
        if spoken.until.is_some_and(|until| until <= Mono::now()) {
            self.authenticate(spoken)?;
            tracing::debug!(host = self.address.host, "The session of SASL was renewed.");
        }
        Ok(spoken)
    }

    fn ask(&self, spoken: &mut Spoken, request: &Request) -> Result<Response, Failure> {
        let Some(question) = self.speaker.question(request, &spoken.versions) else {
            return Ok(Speaker::too_old());
        };
        let answer = spoken.stream.exchange(&question)?;
        self.speaker.response(&question, answer).ok_or_else(Failure::nonsense)
    }

    /// Connects, asks what the broker speaks, and authenticates.
    pub(super) fn connect(&self) -> Result<Spoken, Failure> {
        let socket = self.reach()?;
        socket.set_nodelay(true)?;
        // From here on closing the socket ends every wait, those of both handshakes as well.
        if !self.socket.opened(socket.try_clone()?) {
            return Err(io::Error::from(io::ErrorKind::ConnectionAborted).into());
        }
        let Address { host, port } = &self.address;
        let mut stream = self.security.secure((host, *port), socket)?;
        let answer = stream.exchange(&self.speaker.which_versions())?;
        let versions = Versions::read(answer).ok_or_else(Failure::nonsense)?;
        let mut spoken = Spoken { stream, versions, until: None };
        self.authenticate(&mut spoken)?;
        self.socket.ready();
        Ok(spoken)
    }

    fn reach(&self) -> io::Result<TcpStream> {
        let Address { host, port } = &self.address;
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in (host.as_str(), *port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Begins a session of SASL, where the cluster asks for one: the first on a new connection, the
    /// next before the one before ends (KIP-368). The broker takes it between two requests.
    fn authenticate(&self, spoken: &mut Spoken) -> Result<(), Failure> {
        let Some(login) = &self.security.login else { return Ok(()) };
        let began = Mono::now();
        let Spoken { stream, versions, until } = spoken;
        let lasts = login.authenticate(stream, &self.speaker, versions)?;
        *until = lasts.map(|lasts| began + lasts * SESSION_USED / 100);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bootstrap_lists_are_read_as_clients_read_them() {
        let of = |host: &str, port| Address { host: host.to_owned(), port };
        let list = Address::list("a:1, SSL://b.example:9092,[::1]:9093,c");
        assert_eq!(list, [of("a", 1), of("b.example", 9092), of("::1", 9093)]);
    }
}
