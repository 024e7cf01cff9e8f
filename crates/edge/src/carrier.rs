//! Carries bytes between two sockets through a [`Line`]. Only this module reads and writes them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::edges::Edge;
use super::error::CloseReason;
use super::hub::{Hub, is_lifted};
use super::line::{Around, Line};
use super::listener::Edges;
use super::rules::{Active, Gate, Rules, Way, gate};
use super::upstream::Upstream;
use tandem_facts::time::Mono;

/// How long one side may stay open after the other has closed. Brokers and clients close at once.
const LINGER: Duration = Duration::from_secs(30);

const WAYS: [Way; 2] = [Way::ToBroker, Way::ToClient];

/// A connection that is being carried.
pub(super) struct Carrier {
    hub: Arc<Hub>,
    edge: Arc<Edge>,
    number: u64,
    client: TcpStream,
    broker: Upstream,
    line: Line,
    changes: watch::Receiver<u64>,
    /// The rules, and the version of the state from which they are.
    rules: Rules,
    version: Option<u64>,
    chance: ChaCha8Rng,
    requests: Progress,
    answers: Progress,
    /// The number of bytes accounted for in the hub.
    buffered: usize,
}

/// The progress of one direction.
#[derive(Debug, Default)]
struct Progress {
    /// The source has closed.
    ended: bool,
    /// When the close was passed on.
    shut: Option<Mono>,
    /// The last write was not complete: wait until the socket is writable.
    blocked: bool,
}

impl Carrier {
    pub(super) fn new(
        hub: Arc<Hub>,
        edge: Arc<Edge>,
        number: u64,
        client: TcpStream,
        broker: Upstream,
    ) -> Self {
        let changes = hub.changes();
        // The seed makes the same connection draw the same delays in each run.
        let chance = ChaCha8Rng::seed_from_u64(number);
        Self {
            hub,
            edge,
            number,
            client,
            broker,
            line: Line::new(),
            changes,
            rules: Rules::from([]),
            version: None,
            chance,
            requests: Progress::default(),
            answers: Progress::default(),
            buffered: 0,
        }
    }

    /// Carries until both sides have closed, or one fails.
    pub(super) async fn carry(mut self) -> Result<(), CloseReason> {
        let outcome = self.exchange().await;
        if let Err(CloseReason::Io(_)) = &outcome {
            // While a rule lets nothing pass, the close of one side must not pass, either.
            self.silence().await;
        }
        if let Err(CloseReason::Io(_) | CloseReason::Reset) = &outcome {
            self.client.set_zero_linger().ok();
            self.broker.reset();
        }
        outcome
    }

    async fn exchange(&mut self) -> Result<(), CloseReason> {
        loop {
            self.changes.borrow_and_update();
            let now = Mono::now();
            self.drain(now)?;
            let read = self.read(now)?;
            if !self.hub.account(self.buffered, self.line.buffered()) {
                tracing::warn!(client = %self.edge.client, "The edges hold too many bytes.");
                self.hub.account(self.line.buffered(), self.buffered);
                return Err(CloseReason::Buffered);
            }
            self.buffered = self.line.buffered();
            if read {
                // Yield to other connections, even while there is more to read.
                tokio::task::coop::consume_budget().await;
                continue;
            }
            if self.pass_ends_on(now).await? {
                return Ok(());
            }
            self.wait(now).await;
        }
    }

    /// Writes what may pass. The rules cannot change during the writes.
    fn drain(&mut self, now: Mono) -> Result<(), CloseReason> {
        let Self { hub, edge, number, line, rules, version, client, broker, .. } = self;
        let (requests, answers) = hub.with(|state| {
            if *version != Some(state.version) {
                *version = Some(state.version);
                *rules = state.rules_of(edge);
            }
            let doomed = state.connections.of(*number).is_none_or(|connection| connection.doomed);
            if doomed || is_lifted(&line.lost_by, rules) {
                return Err(CloseReason::Reset);
            }
            let mut to_broker = |bytes: &[u8]| broker.try_write(bytes);
            let mut to_client = |bytes: &[u8]| client.try_write(bytes);
            let requests = line.drain(Way::ToBroker, now, rules, &mut to_broker)?;
            let answers = line.drain(Way::ToClient, now, rules, &mut to_client)?;
            if let Some(connection) = state.connections.of(*number) {
                connection.passing = WAYS.map(|way| (way, line.passing(way)));
                if connection.lost_by != line.lost_by {
                    connection.lost_by.clone_from(&line.lost_by);
                }
            }
            Ok((requests, answers))
        })?;
        self.requests.blocked = requests.blocked;
        self.answers.blocked = answers.blocked;
        if !answers.complete.is_empty() {
            self.hub.reached(&self.edge, &answers.complete);
        }
        Ok(())
    }

    /// Reads once from each side from which it may read. Returns whether bytes arrived or an answer
    /// of our own is ready.
    fn read(&mut self, now: Mono) -> Result<bool, CloseReason> {
        let Self { hub, edge, line, rules, chance, client, broker, .. } = self;
        let mut draw = |most: u64| chance.random_range(0..=most);
        let mut scratch = hub.scratch();
        let mut any = false;
        if let Some(bytes) = read(
            |to| client.try_read(to),
            Way::ToBroker,
            &mut self.requests,
            line,
            rules,
            &mut scratch,
        )? {
            let around = Around { now, rules, chance: &mut draw };
            line.feed_requests(bytes, around)?;
            any = true;
        }
        let bytes = read(
            |to| broker.try_read(to),
            Way::ToClient,
            &mut self.answers,
            line,
            rules,
            &mut scratch,
        )?;
        if bytes.is_some() || line.has_turn() {
            let around = Around { now, rules, chance: &mut draw };
            let mut edges = Edges { hub, edge };
            line.feed_answers(bytes.unwrap_or_default(), around, &mut edges)?;
            any = true;
        }
        Ok(any)
    }

    /// Passes the close of one side on to the other, once that has received everything before it.
    /// Returns whether both directions are closed.
    async fn pass_ends_on(&mut self, now: Mono) -> Result<bool, CloseReason> {
        for way in WAYS {
            let open = gate(&self.rules, way) == Gate::Open;
            let progress = match way {
                Way::ToBroker => &mut self.requests,
                Way::ToClient => &mut self.answers,
            };
            if progress.ended && progress.shut.is_none() && open && self.line.is_drained(way) {
                let shut = match way {
                    Way::ToBroker => self.broker.shut().await,
                    Way::ToClient => self.client.shutdown().await,
                };
                shut.map_err(CloseReason::Io)?;
                progress.shut = Some(now);
            }
        }
        match (self.requests.shut, self.answers.shut) {
            (Some(_), Some(_)) => Ok(true),
            (Some(since), None) | (None, Some(since)) => {
                let open = WAYS.into_iter().all(|way| gate(&self.rules, way) == Gate::Open);
                if open && now.since(since) >= LINGER {
                    return Err(CloseReason::Lingering);
                }
                Ok(false)
            }
            (None, None) => Ok(false),
        }
    }

    /// Waits until there is something to do. All arms are cancel-safe.
    async fn wait(&mut self, now: Mono) {
        let reads = |way, progress: &Progress| !progress.ended && self.line.wants(way, &self.rules);
        let client = interest(reads(Way::ToBroker, &self.requests), self.answers.blocked);
        let broker = interest(reads(Way::ToClient, &self.answers), self.requests.blocked);
        let lingers = self.requests.shut.is_some() || self.answers.shut.is_some();
        let due = self.line.poll_timeout(now).map(|due| due.since(now));
        let alarm = if lingers { Some(due.unwrap_or(LINGER).min(LINGER)) } else { due };
        tokio::select! {
            _ = self.changes.changed() => {}
            () = async { drop(self.client.ready(of(client)).await) }, if client.is_some() => {}
            () = self.broker.ready(of(broker)), if broker.is_some() => {}
            () = tokio::time::sleep(alarm.unwrap_or_default()), if alarm.is_some() => {}
        }
    }

    /// Waits until rules let bytes pass in both directions, or bytes were lost and the rule that
    /// lost them is lifted.
    async fn silence(&mut self) {
        loop {
            self.changes.borrow_and_update();
            let open = |rules: &[Active], way| matches!(gate(rules, way), Gate::Open | Gate::Reset);
            let over = self.hub.with(|state| {
                let rules = state.rules_of(&self.edge);
                let doomed =
                    state.connections.of(self.number).is_none_or(|connection| connection.doomed);
                let open = WAYS.into_iter().all(|way| open(&rules, way));
                doomed || open || is_lifted(&self.line.lost_by, &rules)
            });
            if over || self.changes.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.hub.account(self.buffered, 0);
    }
}

/// The bytes that arrived from one side, if it may be read.
fn read<'a>(
    from: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    way: Way,
    progress: &mut Progress,
    line: &mut Line,
    rules: &[Active],
    scratch: &'a mut [u8],
) -> Result<Option<&'a [u8]>, CloseReason> {
    if progress.ended || !line.wants(way, rules) {
        return Ok(None);
    }
    match from(scratch) {
        Ok(0) => {
            progress.ended = true;
            Ok(None)
        }
        Ok(bytes) => {
            if let Gate::Lossy(faults) = gate(rules, way) {
                line.discard(way, faults);
            }
            Ok(scratch.get(..bytes))
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(CloseReason::Io(error)),
    }
}

fn interest(reads: bool, writes: bool) -> Option<Interest> {
    match (reads, writes) {
        (true, true) => Some(Interest::READABLE | Interest::WRITABLE),
        (true, false) => Some(Interest::READABLE),
        (false, true) => Some(Interest::WRITABLE),
        (false, false) => None,
    }
}

/// The interest of a select arm; an arm without one is never polled.
fn of(interest: Option<Interest>) -> Interest {
    interest.unwrap_or(Interest::READABLE)
}
