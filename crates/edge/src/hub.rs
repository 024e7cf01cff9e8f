//! The state that all connections share: the rules in force, the requests that are passing, the
//! edges.
//!
//! Rules change, and bytes are written, under one lock. A connection checks the rules and writes
//! while it holds the lock, and a write never waits. So once a rule is in force and the lock is
//! free again, no byte passes under the previous rules. Bytes written before are in the system's
//! buffers and reach their reader, like bytes that have left a router.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::command::Answer;
use super::connections::Connections;
use super::edges::{Edge, EdgeTable};
use super::limits::{BUFFERED_MAX, READ_MAX};
use super::rules::Active;
use tandem_facts::ids::FaultId;
use tandem_facts::time::Mono;

/// The shared state and its tasks.
#[derive(Debug)]
pub(super) struct Hub {
    state: Mutex<State>,
    changes: watch::Sender<u64>,
    answers: mpsc::Sender<Answer>,
    buffered: AtomicUsize,
    scratch: Mutex<Vec<u8>>,
    /// The tasks of the edges.
    tasks: Mutex<JoinSet<()>>,
}

/// The state under the lock.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Incremented at each change of the rules.
    pub version: u64,
    pub rules: Vec<Active>,
    pub connections: Connections,
    pub edges: EdgeTable,
}

impl State {
    /// The rules that concern an edge.
    pub(super) fn rules_of(&self, edge: &Edge) -> Arc<[Active]> {
        let edge = edge.concerned();
        self.rules.iter().filter(|active| active.concerns(&edge)).cloned().collect()
    }
}

impl Hub {
    pub(super) fn new(answers: mpsc::Sender<Answer>) -> Self {
        Self {
            state: Mutex::default(),
            changes: watch::Sender::new(0),
            answers,
            buffered: AtomicUsize::new(0),
            scratch: Mutex::new(vec![0; READ_MAX]),
            tasks: Mutex::default(),
        }
    }

    /// Runs `work` on the state under the lock. Does not wake connections.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut locked(&self.state))
    }

    /// Changes the rules and wakes all connections.
    pub(super) fn change<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let done = self.with(|state| {
            let done = work(state);
            state.version += 1;
            done
        });
        self.changes.send_modify(|version| *version += 1);
        done
    }

    /// Notifies of each change of the rules.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The shared read buffer.
    pub(super) fn scratch(&self) -> MutexGuard<'_, Vec<u8>> {
        locked(&self.scratch)
    }

    /// The tasks of the edges.
    pub(super) fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        locked(&self.tasks)
    }

    /// Accounts for a connection that holds `after` bytes instead of `before`. Returns whether the
    /// total is within its limit.
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
            if self.answers.try_send(passed).is_err() {
                tracing::warn!("The queue of answers is full; one is dropped.");
            }
        }
    }
}

/// Whether one of these faults is no longer in force.
pub(super) fn is_lifted(faults: &BTreeSet<FaultId>, rules: &[Active]) -> bool {
    faults.iter().any(|fault| rules.iter().all(|active| active.fault != *fault))
}

/// No code panics while it holds a lock. Even if it did, the state would be valid.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
