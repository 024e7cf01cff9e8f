//! The spool of one life, shared by those who fill and those who empty it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Letter, Origin, Reading, Spool, Standing};
use crate::ids::ClusterName;
use crate::observation::ClockDomain;
use crate::time::Mono;

/// The most bytes that wait: twenty minutes of a member that leads.
const SPOOL_MAX: usize = 4 * 1024 * 1024;
/// The most bytes of facts in one letter; a broker takes a megabyte.
const LETTER_MAX: usize = 256 * 1024;

/// What is still to be delivered of one life.
pub(super) struct Outbox {
    origin: Origin,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    spool: Spool,
    /// No line follows.
    over: bool,
    died: Option<Mono>,
    /// The clusters that have every fact and the death.
    complete: BTreeSet<ClusterName>,
    clusters: usize,
    /// What became of orders, and how much of that each cluster has.
    standing: Standing,
    stood: BTreeMap<ClusterName, u64>,
}

/// A letter for one cluster.
pub(super) struct Work {
    /// The record's key.
    pub(super) key: String,
    /// The record.
    pub(super) record: Vec<u8>,
    until: Option<u64>,
    last: bool,
    standing: Option<u64>,
}

impl Outbox {
    pub(super) fn new(origin: Origin, clusters: &BTreeSet<ClusterName>) -> Self {
        let spool = Spool::new(clusters.iter().cloned(), SPOOL_MAX);
        let (complete, clusters) = (BTreeSet::new(), clusters.len());
        let (standing, stood) = (Standing::default(), BTreeMap::new());
        let state = State { spool, over: false, died: None, complete, clusters, standing, stood };
        Self { origin, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a line, with its line break.
    pub(super) fn push(&self, line: Vec<u8>) {
        self.state().spool.push(line);
        self.changed.notify_all();
    }

    /// What has become of orders by now.
    pub(super) fn stand(&self, standing: &Standing) {
        self.state().standing = standing.clone();
        self.changed.notify_all();
    }

    /// No line follows: the member is gone, since then as far as its witness knows.
    pub(super) fn end(&self, died: Option<Mono>) {
        let mut state = self.state();
        (state.over, state.died) = (true, died);
        drop(state);
        self.changed.notify_all();
    }

    /// The next letter for a cluster, if there is one. It says how the clock of this process, which
    /// may not be that of an earlier life, compared last with that of the cluster.
    pub(super) fn next(
        &self,
        cluster: &ClusterName,
        compared: Option<&(ClockDomain, Reading)>,
    ) -> Option<Work> {
        let state = self.state();
        let (until, lines) = match state.spool.pending(cluster, LETTER_MAX) {
            Some((until, lines)) => (Some(until), lines),
            None => (None, Vec::new()),
        };
        let is_last = |until| !state.spool.has_after(until);
        let last = state.over && until.is_none_or(is_last);
        let stood = state.stood.get(cluster).copied().unwrap_or_default();
        let standing = Some(&state.standing).filter(|standing| standing.seq > stood);
        let is_complete = !last || state.complete.contains(cluster);
        if lines.is_empty() && standing.is_none() && is_complete {
            return None;
        }
        let died = state.died.filter(|_| last);
        let same = compared.filter(|(clock, _)| *clock == self.origin.clock);
        let reading = same.map(|(_, reading)| *reading);
        let record = Letter::write(&self.origin, died, standing, reading, &lines);
        let standing = standing.map(|standing| standing.seq);
        Some(Work { key: Letter::key(&self.origin), record, until, last, standing })
    }

    /// Waits until there may be something to deliver.
    pub(super) fn wait(&self, within: Duration) {
        let waited = self.changed.wait_timeout(self.state(), within);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// A cluster has taken a letter.
    pub(super) fn delivered(&self, cluster: &ClusterName, work: &Work) {
        let mut state = self.state();
        if let Some(until) = work.until {
            state.spool.delivered(cluster, until);
        }
        if let Some(seq) = work.standing {
            state.stood.insert(cluster.clone(), seq);
        }
        if work.last {
            state.complete.insert(cluster.clone());
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Whether every cluster has everything, once the member is gone.
    pub(super) fn is_complete(&self) -> bool {
        let state = self.state();
        state.complete.len() == state.clusters
    }

    /// Waits until every cluster has everything. Returns whether they have.
    pub(super) fn completes(&self, within: Duration) -> bool {
        let began = Mono::now();
        while !self.is_complete() {
            let Some(left) = within.checked_sub(Mono::now().since(began)) else { return false };
            self.wait(left.min(Duration::from_millis(50)));
        }
        true
    }
}
