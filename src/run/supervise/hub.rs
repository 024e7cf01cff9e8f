//! All that watch a supervisor, and what they share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{broadcast, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::changes::Changes;
use super::connection::attend;
use super::experiments::{Client, Experiments};
use super::{Charge, Ended, Stage, Surroundings};
use crate::controller::Recorder;
use crate::guard::Identity;
use crate::journal::Header;
use crate::status_socket::Listening;
use crate::supervision::{About, ChangeOrder, Message, Order, Phase, Underway};
use crate::telemetry::Operations;
use crate::time::Mono;
use crate::topology::Address;

/// How many replacements a client may be behind; each ends all clients before it.
const REPLACED: usize = 16;
/// How many changes of the topology a client may be behind; each takes a second.
const CHANGED: usize = 16;
/// How long a client that is still reading the past has to read to the end.
const FAREWELL: Duration = Duration::from_secs(5);

/// What all connections of a supervisor share.
pub(super) struct Hub {
    folder: PathBuf,
    pub(super) record: Arc<Recorder>,
    pub(super) log: broadcast::Sender<String>,
    pub(super) operations: Operations,
    pub(super) experiments: Experiments,
    pub(super) changes: Changes,
    state: Mutex<State>,
    /// The connection that takes the place of those before it, and its process.
    replaced: broadcast::Sender<(u64, u32)>,
    /// That the topology has changed.
    changed: broadcast::Sender<Message>,
    /// What was said to all: that it stops, and how it ended.
    last: watch::Sender<Vec<Message>>,
}

struct State {
    /// Without those that watch.
    about: About,
    /// The process that has started this one, until it watches as well.
    starter: Option<Identity>,
    /// The processes that watch, by the number of their connection. One that was killed may not
    /// be known to be disconnected yet.
    watching: BTreeMap<u64, Identity>,
}

impl State {
    fn is_up(&self) -> Result<(), String> {
        match self.about.phase {
            Phase::Up => Ok(()),
            Phase::Starting => Err("it is starting".to_owned()),
            Phase::Stopping => Err("it is ending".to_owned()),
        }
    }

    fn watched_by(&self) -> Vec<u32> {
        let all = self.watching.values().copied().chain(self.starter);
        all.filter(|process| process.lives()).map(|process| process.pid).collect()
    }
}

impl Hub {
    pub(super) fn new(charge: &Charge, record: &Arc<Recorder>, around: &Surroundings<'_>) -> Self {
        let folder = std::path::absolute(&charge.folder).unwrap_or_else(|_| charge.folder.clone());
        let about = About {
            header: charge.header.clone(),
            folder: folder.clone(),
            pid: std::process::id(),
            phase: Phase::Starting,
            watched_by: Vec::new(),
            ends: None,
            brokers: BTreeMap::new(),
            experiment: None,
            outside: BTreeMap::new(),
        };
        let state = State { about, starter: Some(charge.starter), watching: BTreeMap::new() };
        Self {
            folder,
            record: Arc::clone(record),
            log: around.log.clone(),
            operations: around.operations.clone(),
            experiments: Experiments::default(),
            changes: Changes::default(),
            changed: broadcast::Sender::new(CHANGED),
            state: Mutex::new(state),
            replaced: broadcast::Sender::new(REPLACED),
            last: watch::Sender::default(),
        }
    }

    /// Answers clients until `closed` is cancelled.
    pub(super) async fn serve(self: Arc<Self>, listening: Listening, closed: CancellationToken) {
        let attend = |stream| attend(stream, Arc::clone(&self));
        listening.serve(attend, |why| Message::Refused(why).line(), FAREWELL, &closed).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn about(&self) -> About {
        let state = self.state();
        let experiment = self.experiments.underway();
        let (watched_by, outside) = (state.watched_by(), self.experiments.outside.living());
        About { watched_by, experiment, outside, ..state.about.clone() }
    }

    /// Accepts an experiment.
    ///
    /// # Errors
    /// It does not fit, another is under way, or members are not all started.
    pub(super) fn order(&self, order: Order) -> Result<Client, String> {
        // Under the lock, so that of an experiment and a change one begins.
        let state = self.state();
        state.is_up()?;
        self.changes.is_free()?;
        self.experiments.order(order, &state.about.header.plan)
    }

    /// Accepts a change of the topology. Returns its steps.
    ///
    /// # Errors
    /// It cannot be done in place, another change or an experiment is under way, or members are not
    /// all started.
    pub(super) fn change(&self, order: ChangeOrder) -> Result<mpsc::Receiver<Message>, String> {
        let state = self.state();
        state.is_up()?;
        if let Some(Underway { run, pid }) = self.experiments.underway() {
            return Err(format!("{run}, process {pid}, is under way on it"));
        }
        self.changes.order(order, &state.about.header)
    }

    /// The topology is that of `header` since `at`.
    pub(super) fn changed(&self, at: Mono, header: &Header) {
        let mut state = self.state();
        state.about.header = header.clone();
        // Without clients nothing is told.
        self.changed.send(Message::Changed { at, header: Box::new(header.clone()) }).ok();
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    /// Brokers and topics are there, and members start.
    pub(super) fn up(&self, stage: &Stage, ends: Option<Mono>) {
        let mut state = self.state();
        let about = &mut state.about;
        let clusters = &about.header.plan.clusters;
        let embedded = clusters.iter().filter(|(_, it)| it.address == Address::Embedded);
        let address = |name| stage.clusters.of_controller(name).bootstrap;
        about.brokers = embedded.map(|(name, _)| (name.clone(), address(name))).collect();
        (about.phase, about.ends) = (Phase::Up, ends);
    }

    /// Enters a process that watches. Until the entry is dropped it is one of them.
    ///
    /// # Errors
    /// Another process watches, and is not to be replaced.
    pub(super) fn enter(self: &Arc<Self>, pid: u32, replace: bool) -> Result<Entered, u32> {
        let mut state = self.state();
        if replace || state.starter.is_some_and(|starter| starter.pid == pid) {
            state.starter = None;
        }
        // A process that connects again may not be known to be disconnected.
        if !replace && let Some(other) = state.watched_by().into_iter().find(|one| *one != pid) {
            return Err(other);
        }
        let number = state.watching.last_key_value().map_or(1, |(last, _)| last + 1);
        let replaced = self.replaced.subscribe();
        // Without others there is nobody to be replaced.
        self.replaced.send((number, pid)).ok();
        state.watching.insert(number, Identity::of(pid).unwrap_or(Identity { pid, since: 0 }));
        let changed = self.changed.subscribe();
        Ok(Entered { hub: Arc::clone(self), number, replaced, changed })
    }

    /// What was said to all, and what will be.
    pub(super) fn last(&self) -> watch::Receiver<Vec<Message>> {
        self.last.subscribe()
    }

    /// Members leave, and brokers end.
    pub(super) fn stopping(&self) {
        self.state().about.phase = Phase::Stopping;
        self.last.send_modify(|said| said.push(Message::Stopping));
    }

    /// Everything has ended, and the journal is written.
    pub(super) fn end(&self, ended: &Ended) {
        self.state().about.phase = Phase::Stopping;
        let Ended { how, why } = ended.clone();
        self.last.send_modify(|said| said.push(Message::Ended { how, why }));
    }
}

/// A process that watches.
pub(super) struct Entered {
    hub: Arc<Hub>,
    number: u64,
    replaced: broadcast::Receiver<(u64, u32)>,
    changed: broadcast::Receiver<Message>,
}

impl Entered {
    /// What is said to those that watch: that another watches in its place, or that the topology is
    /// another one.
    pub(super) async fn next(&mut self) -> Message {
        loop {
            tokio::select! {
                biased;
                // One that is far behind takes up the later ones.
                changed = self.changed.recv() => if let Ok(changed) = changed {
                    return changed;
                },
                replaced = self.replaced.recv() => match replaced {
                    Ok((number, by)) if number != self.number => return Message::Replaced { by },
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => {
                        return std::future::pending().await;
                    }
                },
            }
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.hub.state().watching.remove(&self.number);
    }
}
