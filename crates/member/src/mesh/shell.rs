//! The thread of the mesh: it waits for its sockets, feeds the core and carries out what it says.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::frame::Greeting;
use super::mail::Mail;
use super::socket::{Socket, Stage};
use super::trust::Guard;
use crate::Claims;
use tandem_facts::ids::TopicName;
use tandem_facts::time::Mono;
use tandem_host::Callers;
use tandem_neli::mesh::{LinkId, Mesh, MeshConfig, Process, Word};

/// The longest wait for a connection, and for the greeting of the other end.
const GREETING: Duration = Duration::from_secs(1);
/// The most connections, those that are being made among them.
const SOCKETS_MOST: usize = 512;
/// The most connections of strangers, which have not greeted yet; the oldest go.
const STRANGERS_MOST: usize = 64;
/// The wait after a failed `accept`: the process may have too many open files.
const REST: Duration = Duration::from_millis(100);
/// The longest wait for anything: dead entries of the core are then forgotten.
const IDLE: Duration = Duration::from_secs(1);

pub(super) struct Shell {
    core: Mesh,
    config: MeshConfig,
    topic: TopicName,
    listener: TcpListener,
    callers: Callers,
    guard: Guard,
    mail: Arc<Mail>,
    claims: Arc<Claims>,
    sockets: BTreeMap<LinkId, Socket>,
    last: u64,
    /// Until when it accepts nothing, because the system refused a connection.
    rests: Mono,
}

/// What the kernel reports of the sockets.
struct Ready {
    accepts: bool,
    sockets: Vec<LinkId>,
}

impl Shell {
    pub(super) fn new(
        core: Mesh,
        config: MeshConfig,
        topic: TopicName,
        (listener, guard): (TcpListener, Guard),
        mail: Arc<Mail>,
        claims: Arc<Claims>,
    ) -> Self {
        // It has an address of its own.
        let here = SocketAddr::from(([127, 0, 0, 1], 0));
        let callers = Callers::of(listener.local_addr().unwrap_or(here), []);
        let (sockets, last, rests) = (BTreeMap::new(), 0, Mono::ZERO);
        Self { core, config, topic, listener, callers, guard, mail, claims, sockets, last, rests }
    }

    /// Runs until the member leaves.
    pub(super) fn run(mut self) {
        loop {
            let ready = self.wait();
            let letters = self.mail.letters();
            let now = Mono::now();
            for statement in letters.ledger {
                self.core.handle_statement(now, &statement);
            }
            if let Some(own) = letters.own {
                self.core.handle_own(now, own);
            }
            for id in ready.sockets {
                self.serve(id);
            }
            if ready.accepts {
                self.accept();
            }
            if letters.leaves {
                self.core.handle_leave(Mono::now());
                return self.drain();
            }
            self.give_up(Mono::now());
            self.core.handle_timeout(Mono::now());
            self.drain();
            self.claims.turned(Mono::now());
        }
    }

    /// Waits until a socket, a letter or the core has something.
    fn wait(&self) -> Ready {
        let now = Mono::now();
        let greetings = self.sockets.values().filter_map(Socket::deadline);
        let rests = Some(self.rests).filter(|until| now < *until);
        let due = self.core.poll_timeout().into_iter().chain(greetings).chain(rests).min();
        let wait = due.map_or(IDLE, |due| due.since(now)).min(IDLE);
        let timeout = Timespec::try_from(wait).ok();
        let mut fds = vec![
            PollFd::from_borrowed_fd(self.mail.waker(), PollFlags::IN),
            PollFd::new(&self.listener, rests.map_or(PollFlags::IN, |_| PollFlags::empty())),
        ];
        for socket in self.sockets.values() {
            fds.push(PollFd::new(&socket.stream, socket.awaits()));
        }
        // Interrupted, say: then nothing is ready.
        poll(&mut fds, timeout.as_ref()).ok();
        let mut is_ready = fds.iter().skip(1).map(|fd| !fd.revents().is_empty());
        let accepts = is_ready.next().unwrap_or(false);
        let sockets = self.sockets.keys().zip(is_ready).filter(|(_, ready)| *ready);
        Ready { accepts, sockets: sockets.map(|(id, _)| *id).collect() }
    }

    fn accept(&mut self) {
        loop {
            let (stream, peer) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    tracing::warn!(%error, "The mesh cannot accept a connection.");
                    self.rests = Mono::now() + REST;
                    return;
                }
            };
            let asks = self.guard.asks_kernel();
            if asks && !self.callers.admits(stream.local_addr(), peer) {
                continue;
            }
            self.make_room();
            if self.sockets.len() >= SOCKETS_MOST {
                tracing::debug!(%peer, "The mesh has too many connections.");
                continue;
            }
            let until = Mono::now() + GREETING;
            let socket = self.guard.accepts().and_then(|session| {
                let mut socket = Socket::accepted((stream, session), until)?;
                socket.send(&self.greeting(None))?;
                Ok(socket)
            });
            if let Ok(socket) = socket {
                self.add(socket);
            }
        }
    }

    /// Strangers that connect again and again keep no member out: each has only so long.
    fn make_room(&mut self) {
        let is_stranger =
            |socket: &Socket| matches!(socket.stage, Stage::Greeting { to: None, .. });
        let strangers = self.sockets.iter().filter(|(_, socket)| is_stranger(socket));
        let strangers: Vec<LinkId> = strangers.map(|(id, _)| *id).collect();
        if let Some(oldest) = strangers.first().filter(|_| strangers.len() >= STRANGERS_MOST) {
            self.sockets.remove(oldest);
        }
    }

    fn add(&mut self, socket: Socket) {
        self.last += 1;
        self.sockets.insert(LinkId(self.last), socket);
    }

    fn greeting(&self, to: Option<Process>) -> Vec<u8> {
        let MeshConfig { group, me, .. } = &self.config;
        let (topic, group, from) = (self.topic.clone(), group.clone(), me.clone());
        Greeting { topic, group, from, to }.encode()
    }

    /// Something happened to this connection.
    fn serve(&mut self, id: LinkId) {
        let Some(socket) = self.sockets.get(&id) else { return };
        if let Stage::Connecting { to, until } = &socket.stage {
            let (to, until) = (to.clone(), *until);
            if self.connected(id, &to, until).is_err() {
                self.drop_socket(id);
            }
            return;
        }
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        let broken = socket.flush().is_err();
        let (frames, ended) = socket.frames();
        for frame in frames {
            if !self.take(id, &frame) {
                return self.drop_socket(id);
            }
        }
        if ended || broken {
            self.drop_socket(id);
        }
    }

    /// The kernel has made the connection, or could not. The other end greets once it has accepted;
    /// before that no process holds it.
    fn connected(&mut self, id: LinkId, to: &Process, until: Mono) -> io::Result<()> {
        let Some(socket) = self.sockets.get_mut(&id) else { return Ok(()) };
        socket.connected()?;
        socket.stage = Stage::Greeting { to: Some(to.clone()), until };
        // A handshake begins at this end.
        socket.flush()
    }

    /// Answers the greeting of the member that was dialed. Another user may listen on the port of a
    /// dead one.
    fn answer(&mut self, id: LinkId, to: Process) -> io::Result<()> {
        let greeting = self.greeting(Some(to));
        let Some(socket) = self.sockets.get_mut(&id) else { return Ok(()) };
        let (local, peer) = (socket.stream.local_addr()?, socket.stream.peer_addr()?);
        if self.guard.asks_kernel() {
            self.callers.admit(local, peer).map_err(io::Error::other)?;
        }
        socket.send(&greeting)
    }

    /// A frame arrived; false if the connection is good for nothing.
    fn take(&mut self, id: LinkId, frame: &[u8]) -> bool {
        let Some(socket) = self.sockets.get_mut(&id) else { return true };
        match &socket.stage {
            Stage::Connecting { .. } => false,
            Stage::Greeting { to, .. } => {
                let to = to.clone();
                let Some(greeting) = Greeting::decode(frame) else { return false };
                let ours = greeting.topic == self.topic && greeting.group == self.config.group;
                let meant = match (&to, &greeting.to) {
                    (Some(to), None) => *to == greeting.from,
                    (None, Some(meant)) => *meant == self.config.me,
                    (Some(_), Some(_)) | (None, None) => false,
                };
                let linked = ours && meant && to.is_none_or(|to| self.answer(id, to).is_ok());
                if let Some(socket) = self.sockets.get_mut(&id).filter(|_| linked) {
                    socket.stage = Stage::Linked;
                    self.core.handle_linked(Mono::now(), id, &greeting.from);
                }
                linked
            }
            Stage::Linked => {
                // Words of later versions say nothing here.
                if let Some(word) = Word::decode(frame) {
                    if let Word::Statement(statement) = &word {
                        self.mail.state(statement.clone());
                    }
                    self.core.handle_word(Mono::now(), id, word);
                }
                true
            }
        }
    }

    /// Closes a connection, and tells the core.
    fn drop_socket(&mut self, id: LinkId) {
        let Some(socket) = self.sockets.remove(&id) else { return };
        let now = Mono::now();
        match socket.stage {
            Stage::Linked => self.core.handle_ended(now, id),
            Stage::Connecting { to, .. } | Stage::Greeting { to: Some(to), .. } => {
                self.core.handle_undialed(now, &to);
            }
            Stage::Greeting { to: None, .. } => {}
        }
    }

    /// Closes connections whose other end has not greeted in time.
    fn give_up(&mut self, now: Mono) {
        let late = |socket: &Socket| socket.deadline().is_some_and(|until| until <= now);
        let late: Vec<LinkId> =
            self.sockets.iter().filter(|(_, it)| late(it)).map(|(id, _)| *id).collect();
        for id in late {
            self.drop_socket(id);
        }
    }

    /// Carries out what the core says, the stand-ins first.
    fn drain(&mut self) {
        loop {
            while let Some(order) = self.core.poll_order() {
                self.mail.order(order);
            }
            if let Some(inquest) = self.core.poll_inquest() {
                self.mail.inquire(inquest);
            }
            if let Some((id, word)) = self.core.poll_word() {
                let sent = self.sockets.get_mut(&id).map(|socket| socket.send(&word.encode()));
                if sent.is_some_and(|sent| sent.is_err()) {
                    // What it sent before its end is still to be read.
                    self.serve(id);
                    self.drop_socket(id);
                }
            } else if let Some(id) = self.core.poll_close() {
                self.sockets.remove(&id);
            } else if let Some((life, address)) = self.core.poll_dial() {
                self.dial(&life, &address);
            } else {
                return;
            }
        }
    }

    fn dial(&mut self, life: &Process, address: &str) {
        let until = Mono::now() + GREETING;
        let address = address.parse().ok().filter(|it: &SocketAddr| self.guard.reaches(it.ip()));
        let room = self.sockets.len() < SOCKETS_MOST;
        let socket = address.filter(|_| room).map(|it| {
            let session = self.guard.dials(it.ip())?;
            Socket::dial((it, session), life.clone(), until)
        });
        match socket {
            Some(Ok(socket)) => self.add(socket),
            Some(Err(_)) | None => self.core.handle_undialed(Mono::now(), life),
        }
    }
}

impl Socket {
    /// Until when it must have greeted.
    fn deadline(&self) -> Option<Mono> {
        match self.stage {
            Stage::Connecting { until, .. } | Stage::Greeting { until, .. } => Some(until),
            Stage::Linked => None,
        }
    }

    /// What to wait for.
    fn awaits(&self) -> PollFlags {
        match self.stage {
            Stage::Connecting { .. } => PollFlags::OUT,
            Stage::Greeting { .. } | Stage::Linked if self.is_waiting() => {
                PollFlags::IN | PollFlags::OUT
            }
            Stage::Greeting { .. } | Stage::Linked => PollFlags::IN,
        }
    }
}
