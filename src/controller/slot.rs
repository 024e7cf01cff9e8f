//! The place of one member: which of its lives is on, and in what state.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::watch;

use super::Process;
use crate::ids::{Incarnation, Life, MemberId};
use crate::time::Mono;

/// What a life is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nobody: not started yet, or dead.
    Absent,
    /// Its process runs.
    Running,
    /// Its process is stopped.
    Stopped,
}

/// Which life, what it is doing, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// The latest life; 0 before the first.
    pub incarnation: Incarnation,
    /// What it is doing.
    pub phase: Phase,
    /// Since when.
    pub since: Mono,
}

/// One member's place.
pub struct Slot {
    member: MemberId,
    state: watch::Sender<State>,
    process: Mutex<Option<Arc<Process>>>,
    signalled: AtomicU64,
    /// How many lives there were, those of second processes among them.
    lives: AtomicU32,
    restart_after: Mutex<Option<Duration>>,
}

impl Slot {
    pub(super) fn new(member: MemberId) -> Self {
        let (incarnation, phase, since) = (Incarnation(0), Phase::Absent, Mono::ZERO);
        Self {
            member,
            state: watch::Sender::new(State { incarnation, phase, since }),
            process: Mutex::default(),
            signalled: AtomicU64::new(0),
            lives: AtomicU32::new(0),
            restart_after: Mutex::default(),
        }
    }

    /// What it is doing now.
    #[must_use]
    pub fn state(&self) -> State {
        *self.state.borrow()
    }

    /// The life that is on, or was last.
    #[must_use]
    pub fn life(&self) -> Life {
        Life { member: self.member.clone(), incarnation: self.state().incarnation }
    }

    /// A life that is about to begin: no other bears its number.
    #[must_use]
    pub fn next_life(&self) -> Life {
        let incarnation = Incarnation(self.lives.fetch_add(1, Ordering::Relaxed) + 1);
        Life { member: self.member.clone(), incarnation }
    }

    /// Waits for a state, for at most `within`.
    pub async fn reaches(&self, within: Duration, wanted: impl Fn(State) -> bool) -> Option<State> {
        let mut states = self.state.subscribe();
        let reached = states.wait_for(|&state| wanted(state));
        let state = *tokio::time::timeout(within, reached).await.ok()?.ok()?;
        Some(state)
    }

    /// The process that runs, if one does.
    #[must_use]
    pub fn process(&self) -> Option<Arc<Process>> {
        lock(&self.process).clone()
    }

    /// Sends a signal to the process, if one runs; what it does, it had not done before this.
    ///
    /// # Errors
    /// The system refuses.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let Some(process) = self.process() else { return Ok(()) };
        self.signalled.store(Mono::now().0, Ordering::Relaxed);
        process.signal(signal)
    }

    /// When the last signal was about to be sent.
    pub(super) fn signalled(&self) -> Mono {
        Mono(self.signalled.load(Ordering::Relaxed))
    }

    /// The next restart comes so long after the death, whatever the topology says.
    pub fn restart_once_after(&self, after: Duration) {
        *lock(&self.restart_after) = Some(after);
    }

    pub(super) fn take_restart(&self) -> Option<Duration> {
        lock(&self.restart_after).take()
    }

    pub(super) fn born(&self, since: Mono, incarnation: Incarnation, process: Arc<Process>) {
        *lock(&self.process) = Some(process);
        self.state.send_replace(State { incarnation, phase: Phase::Running, since });
    }

    pub(super) fn turn(&self, since: Mono, phase: Phase) {
        if phase == Phase::Absent {
            *lock(&self.process) = None;
        }
        self.state.send_modify(|state| *state = State { phase, since, ..*state });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
