//! One client of a supervisor: all facts so far, and then each new one.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::history::History;
use super::hub::Hub;
use super::recipient::{To, is_of_an_experiment};
use crate::journal::{JournalError, Written};
use crate::observation::{Fact, Outcome};
use crate::supervision::{ChangeOrder, Message, Request, Seen, Underway, VERSION, Wish};
use crate::time::Mono;

/// The longest request, in bytes: an experiment has at most a mebibyte, before it is quoted.
const REQUEST_MAX: u64 = 4 << 20;
/// How long a client may take to send its request.
const REQUEST: Duration = Duration::from_secs(5);
/// How long a client may read nothing before it is disconnected.
const READS: Duration = Duration::from_secs(30);
/// The variable with which tests override that, in milliseconds.
const VARIABLE: &str = "TANDEM_TEST_SUPERVISOR_READS";
/// How long the facts so far may take to be written; on a blocked disk some are missed.
const WRITTEN: Duration = Duration::from_secs(2);
/// How often to check that.
const LOOK: Duration = Duration::from_millis(10);
/// How often to check the state of the journal.
const LOOK_AT_JOURNAL: Duration = Duration::from_millis(500);
/// How often the time is sent.
const TIME: Duration = Duration::from_millis(20);
/// How many facts are sent at once.
const BATCH: usize = 500;

/// The client is gone, or does not read.
pub(super) struct Gone;

/// Reads the request, and answers it.
pub(super) async fn attend(mut stream: UnixStream, hub: Arc<Hub>) {
    let me = rustix::process::geteuid().as_raw();
    if !stream.peer_cred().is_ok_and(|peer| peer.uid() == me) {
        return;
    }
    let request = tokio::time::timeout(REQUEST, read_request(&mut stream)).await;
    let answered = match request.unwrap_or_else(|_| Err("no request came".to_owned())) {
        Err(why) => send(&mut stream, &Message::Refused(why).line()).await,
        Ok(Wish::About) => send(&mut stream, &Message::About(Box::new(hub.about())).line()).await,
        Ok(Wish::Watch { pid, replace }) => watch(&mut stream, &hub, pid, replace).await,
        Ok(Wish::Experiment(order)) => match hub.order(*order) {
            Ok(client) => tell_all(&mut stream, &hub, &mut To::Experiment(client)).await,
            Err(why) => send(&mut stream, &Message::Refused(why).line()).await,
        },
        Ok(Wish::Halt) => halt(&mut stream, &hub).await,
        Ok(Wish::Change(order)) => change(&mut stream, &hub, *order).await,
    };
    // A client that is gone needs no answer.
    drop(answered);
}

async fn read_request(stream: &mut UnixStream) -> Result<Wish, String> {
    let mut line = Vec::new();
    let read = BufReader::new(stream.take(REQUEST_MAX)).read_until(b'\n', &mut line).await;
    if read.is_err() || !line.ends_with(b"\n") {
        return Err(format!("a request is one line of at most {REQUEST_MAX} bytes"));
    }
    let request: Request =
        serde_json::from_slice(&line).map_err(|error| format!("not a request: {error}"))?;
    if request.tandem != VERSION {
        let found = request.tandem;
        return Err(format!("the request has version {found}, and this supervisor has {VERSION}"));
    }
    Ok(request.wish)
}

/// How long a client may read nothing.
fn reads() -> Duration {
    static WITHIN: OnceLock<Duration> = OnceLock::new();
    *WITHIN.get_or_init(|| {
        let ms = std::env::var(VARIABLE).ok().and_then(|ms| ms.parse().ok());
        ms.map_or(READS, Duration::from_millis)
    })
}

async fn send(stream: &mut UnixStream, lines: &[u8]) -> Result<(), Gone> {
    match tokio::time::timeout(reads(), stream.write_all(lines)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(Gone),
    }
}

async fn watch(
    stream: &mut UnixStream,
    hub: &Arc<Hub>,
    pid: u32,
    replace: bool,
) -> Result<(), Gone> {
    match hub.enter(pid, replace) {
        Ok(entered) => tell_all(stream, hub, &mut To::Watch(entered)).await,
        Err(other) => {
            let why = format!("process {other} watches it; --replace takes its place");
            send(stream, &Message::Refused(why).line()).await
        }
    }
}

/// Ends the experiment that is under way, and says so when it is healed.
async fn halt(stream: &mut UnixStream, hub: &Arc<Hub>) -> Result<(), Gone> {
    send(stream, &Message::About(Box::new(hub.about())).line()).await?;
    if let Some(Underway { run, pid }) = hub.experiments.halt().await {
        let why = format!("{run}, process {pid}, is healed and ended");
        let how = Outcome::Interrupted;
        send(stream, &Message::Halted { how, why }.line()).await?;
    }
    Ok(())
}

/// Has the topology changed, and sends each step. If the client is gone, the change goes on.
async fn change(stream: &mut UnixStream, hub: &Arc<Hub>, order: ChangeOrder) -> Result<(), Gone> {
    let mut steps = match hub.change(order) {
        Ok(steps) => steps,
        Err(why) => return send(stream, &Message::Refused(why).line()).await,
    };
    send(stream, &Message::About(Box::new(hub.about())).line()).await?;
    while let Some(step) = steps.recv().await {
        send(stream, &step.line()).await?;
    }
    Ok(())
}

/// Sends all facts so far, and then what happens.
async fn tell_all(stream: &mut UnixStream, hub: &Arc<Hub>, to: &mut To) -> Result<(), Gone> {
    let last = hub.last();
    send(stream, &Message::About(Box::new(hub.about())).line()).await?;
    if let To::Experiment(client) = to {
        send(stream, &Message::Accepted { after: client.after }.line()).await?;
    }
    let mut log = hub.log.subscribe();
    let (facts, seen) = match history(stream, hub).await? {
        Ok(read) => read,
        Err(error) => {
            let why = format!("its journal cannot be read: {}", crate::error::chain(&error));
            return send(stream, &Message::Refused(why).line()).await;
        }
    };
    let lost = hub.record.written().lost;
    if lost > 0 {
        send(stream, &Message::Missed(lost).line()).await?;
    }
    send(stream, &Message::Caught.line()).await?;
    let watches = matches!(to, To::Watch(_));
    let told = Telling { stream, hub, facts, seen: Some(seen), journal: None, watches };
    told.on(to, &mut log, last).await
}

/// Sends all that the journal has. Returns the facts from then on, and what was read.
async fn history(
    stream: &mut UnixStream,
    hub: &Arc<Hub>,
) -> Result<Result<(Receiver<Arc<Fact>>, Seen), JournalError>, Gone> {
    let folder = hub.folder();
    let mut opened = match History::open(&folder) {
        Ok(opened) => opened,
        Err(error) => return Ok(Err(error)),
    };
    let mut following: Option<(Receiver<Arc<Fact>>, u64, Mono)> = None;
    loop {
        let before = following.is_some();
        let whole = following.as_ref().is_none_or(|(_, until, since)| {
            hub.record.progress().1 >= *until || Mono::now().since(*since) >= WRITTEN
        });
        // Reading may wait for the disk.
        let read = tokio::task::spawn_blocking(move || opened.read().map(|read| (opened, read)));
        let (lines, more) = match read.await {
            Ok(Ok((history, read))) => {
                opened = history;
                read
            }
            Ok(Err(error)) => return Ok(Err(error)),
            Err(_) => return Err(Gone),
        };
        send(stream, &lines).await?;
        if more {
            continue;
        }
        match following.take() {
            // Everything that was recorded before `facts` was written, and is read now.
            Some((facts, ..)) if before && whole => return Ok(Ok((facts, opened.into_seen()))),
            Some(waiting) => {
                following = Some(waiting);
                tokio::time::sleep(LOOK).await;
            }
            // From here on no fact is missed.
            None => {
                let (facts, until) = hub.record.follow_from();
                following = Some((facts, until, Mono::now()));
            }
        }
    }
}

/// Sends what happens from now on.
struct Telling<'a> {
    stream: &'a mut UnixStream,
    hub: &'a Arc<Hub>,
    facts: Receiver<Arc<Fact>>,
    /// What of it was sent already.
    seen: Option<Seen>,
    /// The state of the journal as last sent.
    journal: Option<Written>,
    /// The client watches; else it has ordered an experiment.
    watches: bool,
}

/// What is said to all after the first `said` messages.
async fn said_next(last: &mut watch::Receiver<Vec<Message>>, said: usize) -> Message {
    match last.wait_for(|all| all.len() > said).await.map(|all| all.get(said).cloned()) {
        Ok(Some(message)) => message,
        // The hub outlives its connections.
        Ok(None) | Err(_) => std::future::pending().await,
    }
}

impl Telling<'_> {
    async fn on(
        mut self,
        to: &mut To,
        log: &mut Receiver<String>,
        mut last: watch::Receiver<Vec<Message>>,
    ) -> Result<(), Gone> {
        let mut look = tokio::time::interval(LOOK_AT_JOURNAL);
        let mut time = tokio::time::interval(TIME);
        time.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (mut said, mut heard) = (0, Vec::new());
        to.begin();
        loop {
            tokio::select! {
                fact = self.facts.recv() => self.tell(fact).await?,
                Ok(line) = log.recv(), if self.watches => {
                    send(self.stream, &Message::Log(line).line()).await?;
                }
                _ = time.tick() => self.tell_time().await?,
                _ = look.tick() => self.tell_journal().await?,
                message = to.next() => {
                    // The facts before it come first.
                    self.rest().await?;
                    send(self.stream, &message.line()).await?;
                    if let Message::Replaced { .. } = message {
                        return Ok(());
                    }
                }
                message = said_next(&mut last, said) => {
                    said += 1;
                    // The facts before it come first.
                    self.rest().await?;
                    self.tell_operations().await?;
                    send(self.stream, &message.line()).await?;
                    if let Message::Ended { .. } = message {
                        return Ok(());
                    }
                }
                readable = self.stream.readable() => {
                    self.hear(readable, &mut heard)?;
                    to.hear(&mut heard)?;
                }
            }
        }
    }

    /// Reads what the client has sent. This also notices that it is gone.
    fn hear(&self, readable: io::Result<()>, heard: &mut Vec<u8>) -> Result<(), Gone> {
        let mut bytes = [0; 256];
        match readable.and_then(|()| self.stream.try_read(&mut bytes)) {
            Ok(0) => return Err(Gone),
            Ok(count) => heard.extend(bytes.iter().take(count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return Err(Gone),
        }
        Ok(())
    }

    /// Sends a fact, and those that wait behind it.
    async fn tell(&mut self, first: Result<Arc<Fact>, RecvError>) -> Result<(), Gone> {
        let mut lines = Vec::new();
        match first {
            Ok(fact) => self.add(&mut lines, &fact),
            Err(RecvError::Lagged(missed)) => lines.extend(Message::Missed(missed).line()),
            Err(RecvError::Closed) => return Err(Gone),
        }
        self.take_waiting(&mut lines);
        send(self.stream, &lines).await
    }

    fn take_waiting(&mut self, lines: &mut Vec<u8>) -> bool {
        for _ in 0..BATCH {
            match self.facts.try_recv() {
                Ok(fact) => self.add(lines, &fact),
                Err(TryRecvError::Lagged(missed)) => lines.extend(Message::Missed(missed).line()),
                Err(TryRecvError::Empty | TryRecvError::Closed) => {
                    self.seen = None;
                    return false;
                }
            }
        }
        true
    }

    fn add(&self, lines: &mut Vec<u8>, fact: &Arc<Fact>) {
        // The journal has nothing of trials; only the client that has ordered them gets to know.
        let is_new = match is_of_an_experiment(fact) {
            true => !self.watches,
            false => !self.seen.as_ref().is_some_and(|seen| seen.has(fact)),
        };
        if is_new {
            lines.extend(Message::Fact(Fact::clone(fact)).line());
        }
    }

    async fn rest(&mut self) -> Result<(), Gone> {
        loop {
            let mut lines = Vec::new();
            let more = self.take_waiting(&mut lines);
            send(self.stream, &lines).await?;
            if !more {
                return Ok(());
            }
        }
    }

    async fn tell_time(&mut self) -> Result<(), Gone> {
        let now = Mono::now();
        self.rest().await?;
        send(self.stream, &Message::Time(now).line()).await?;
        self.tell_operations().await
    }

    async fn tell_operations(&mut self) -> Result<(), Gone> {
        // Each is sent once.
        if !self.watches {
            return Ok(());
        }
        while let Some(operation) = self.hub.operations.take() {
            send(self.stream, &Message::Operation(Box::new(operation)).line()).await?;
        }
        Ok(())
    }

    async fn tell_journal(&mut self) -> Result<(), Gone> {
        let now = self.hub.record.written();
        if self.journal.as_ref() != Some(&now) {
            send(self.stream, &Message::Journal(now.clone()).line()).await?;
            self.journal = Some(now);
        }
        Ok(())
    }
}
