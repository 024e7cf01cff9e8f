//! What all connections share: the rules in force, who passes what at this moment, the edges.
//!
//! Rules change, and bytes are written, under one lock: a connection looks at the rules and writes
//! without letting go of it, and a write never waits. So once a rule has been put in force, and the
//! lock is free again, no byte passes by the rules as they were. What had been written before lies
//! in the system's buffers and reaches its reader, as what had passed a router would.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::book::{Book, Edge};
use super::limits::{BUFFERED_MAX, READ_MAX};
use super::order::Answer;
use super::rules::Active;
use super::standing::Standings;
use tandem_facts::ids::FaultId;
use tandem_facts::time::Mono;

/// What is shared.
#[derive(Debug)]
pub(super) struct Hub {
    state: Mutex<State>,
    changes: watch::Sender<u64>,
    says: mpsc::Sender<Answer>,
    buffered: AtomicUsize,
    scratch: Mutex<Vec<u8>>,
    /// The edges' tasks.
    tasks: Mutex<JoinSet<()>>,
}

/// What stands under the lock.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Changes with the rules.
    pub version: u64,
    pub rules: Vec<Active>,
    pub standings: Standings,
    pub book: Book,
}

impl State {
    /// The rules that concern an edge.
    pub(super) fn rules_of(&self, edge: &Edge) -> Arc<[Active]> {
        let edge = edge.concerned();
        self.rules.iter().filter(|active| active.concerns(&edge)).cloned().collect()
    }
}

impl Hub {
    pub(super) fn new(says: mpsc::Sender<Answer>) -> Self {
        Self {
            state: Mutex::default(),
            changes: watch::Sender::new(0),
            says,
            buffered: AtomicUsize::new(0),
            scratch: Mutex::new(vec![0; READ_MAX]),
            tasks: Mutex::default(),
        }
    }

    /// Looks at what is shared, or changes it.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut locked(&self.state))
    }

    /// Changes the rules, and wakes all connections.
    pub(super) fn change<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let done = self.with(|state| {
            let done = work(state);
            state.version += 1;
            done
        });
        self.changes.send_modify(|version| *version += 1);
        done
    }

    /// Wakes whenever the rules have changed.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// A buffer to read into.
    pub(super) fn scratch(&self) -> MutexGuard<'_, Vec<u8>> {
        locked(&self.scratch)
    }

    /// The tasks of the edges.
    pub(super) fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        locked(&self.tasks)
    }

    /// A connection holds other bytes than before; whether all together may hold as many.
    pub(super) fn account(&self, before: usize, after: usize) -> bool {
        let sum = self.buffered.fetch_add(after, Ordering::Relaxed).saturating_add(after);
        self.buffered.fetch_sub(before, Ordering::Relaxed);
        after <= before || sum.saturating_sub(before) <= BUFFERED_MAX
    }

    /// Answers of a broker to these requests have reached the client of an edge.
    pub(super) fn reached(&self, edge: &Edge, apis: &[i16]) {
        for fault in edge.reached(apis) {
            let passed = Answer::Passed {
                fault,
                client: edge.client.clone(),
                broker: edge.broker(),
                t: Mono::now(),
            };
            if self.says.try_send(passed).is_err() {
                tracing::warn!("Nobody reads what the edges say; something is left unsaid.");
            }
        }
    }
}

/// Whether some fault is in force no more.
pub(super) fn is_lifted(faults: &BTreeSet<FaultId>, rules: &[Active]) -> bool {
    faults.iter().any(|fault| rules.iter().all(|active| active.fault != *fault))
}

/// Nothing here panics while it holds a lock; if it did, what is there is still whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
