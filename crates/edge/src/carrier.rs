//! Carries bytes between two sockets by way of a [`Line`]: the only place where they are read and
//! written.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::book::Edge;
use super::error::Parting;
use super::hub::{Hub, is_lifted};
use super::line::{Around, Line};
use super::listener::Edges;
use super::rules::{Active, Gate, Rules, Way, gate};
use super::upstream::Upstream;
use tandem_facts::time::Mono;

/// After one side has ended, the other has that long; brokers and clients close at once.
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
    /// The rules, and the version of which they are.
    rules: Rules,
    version: Option<u64>,
    chance: ChaCha8Rng,
    requests: Progress,
    answers: Progress,
    /// The bytes that were accounted for.
    buffered: usize,
}

/// How far a way has come.
#[derive(Debug, Default)]
struct Progress {
    /// No more will be read.
    ended: bool,
    /// The end has been passed on.
    shut: Option<Mono>,
    /// What is written must wait.
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
        // The same connection has the same chance in each run.
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

    /// Until both sides have ended, or one fails.
    pub(super) async fn carry(mut self) -> Result<(), Parting> {
        let outcome = self.exchange().await;
        if let Err(Parting::Io(_)) = &outcome {
            // The death of one side is news that must not pass where nothing may.
            self.silence().await;
        }
        if let Err(Parting::Io(_) | Parting::Reset) = &outcome {
            self.client.set_zero_linger().ok();
            self.broker.reset();
        }
        outcome
    }

    async fn exchange(&mut self) -> Result<(), Parting> {
        loop {
            self.changes.borrow_and_update();
            let now = Mono::now();
            self.drain(now)?;
            let read = self.read(now)?;
            if !self.hub.account(self.buffered, self.line.buffered()) {
                tracing::warn!(client = %self.edge.client, "The edges hold too many bytes.");
                self.hub.account(self.line.buffered(), self.buffered);
                return Err(Parting::Buffered);
            }
            self.buffered = self.line.buffered();
            if read {
                // However much there is to read, others have their turn.
                tokio::task::coop::consume_budget().await;
                continue;
            }
            if self.pass_ends_on(now).await? {
                return Ok(());
            }
            self.wait(now).await;
        }
    }

    /// Writes what may pass, by the rules as they are while it is written.
    fn drain(&mut self, now: Mono) -> Result<(), Parting> {
        let Self { hub, edge, number, line, rules, version, client, broker, .. } = self;
        let (requests, answers) = hub.with(|state| {
            if *version != Some(state.version) {
                *version = Some(state.version);
                *rules = state.rules_of(edge);
            }
            let doomed = state.standings.of(*number).is_none_or(|standing| standing.doomed);
            if doomed || is_lifted(&line.lost_by, rules) {
                return Err(Parting::Reset);
            }
            let mut to_broker = |bytes: &[u8]| broker.try_write(bytes);
            let mut to_client = |bytes: &[u8]| client.try_write(bytes);
            let requests = line.drain(Way::ToBroker, now, rules, &mut to_broker)?;
            let answers = line.drain(Way::ToClient, now, rules, &mut to_client)?;
            if let Some(standing) = state.standings.of(*number) {
                standing.passing = WAYS.map(|way| (way, line.passing(way)));
                if standing.lost_by != line.lost_by {
                    standing.lost_by.clone_from(&line.lost_by);
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

    /// Reads once from each side that may be read; whether anything came, or is to be written.
    fn read(&mut self, now: Mono) -> Result<bool, Parting> {
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

    /// Tells each side that the other has ended, once it has all that came before. Whether all is
    /// over.
    async fn pass_ends_on(&mut self, now: Mono) -> Result<bool, Parting> {
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
                shut.map_err(Parting::Io)?;
                progress.shut = Some(now);
            }
        }
        match (self.requests.shut, self.answers.shut) {
            (Some(_), Some(_)) => Ok(true),
            (Some(since), None) | (None, Some(since)) => {
                let open = WAYS.into_iter().all(|way| gate(&self.rules, way) == Gate::Open);
                if open && now.since(since) >= LINGER {
                    return Err(Parting::Lingering);
                }
                Ok(false)
            }
            (None, None) => Ok(false),
        }
    }

    /// Until there is something to do. All arms may be dropped at any time.
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

    /// Until all ways are open, or what was lost is found.
    async fn silence(&mut self) {
        loop {
            self.changes.borrow_and_update();
            let open = |rules: &[Active], way| matches!(gate(rules, way), Gate::Open | Gate::Reset);
            let over = self.hub.with(|state| {
                let rules = state.rules_of(&self.edge);
                let doomed = state.standings.of(self.number).is_none_or(|standing| standing.doomed);
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

/// What came from one side, if it may be read and anything came.
fn read<'a>(
    from: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    way: Way,
    progress: &mut Progress,
    line: &mut Line,
    rules: &[Active],
    scratch: &'a mut [u8],
) -> Result<Option<&'a [u8]>, Parting> {
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
        Err(error) => Err(Parting::Io(error)),
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

/// What is waited for; an arm that waits for nothing is never polled.
fn of(interest: Option<Interest>) -> Interest {
    interest.unwrap_or(Interest::READABLE)
}
