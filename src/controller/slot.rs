//! The slot of one member: its current life, and the state of that life's process.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::watch;

use super::Process;
use super::outside::Far;
use crate::external::Deed;
use crate::guard::signal_families;
use crate::ids::{Incarnation, Life, MemberId};
use crate::time::Mono;

/// The state of a life's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// There is none: not started yet, or dead.
    Absent,
    /// Its process runs.
    Running,
    /// Its process is stopped.
    Stopped,
}

/// The state of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// The latest life; 0 before the first.
    pub incarnation: Incarnation,
    /// The state of its process.
    pub phase: Phase,
    /// Since when it is in that state.
    pub since: Mono,
    /// Since when an order keeps it from its brokers, if one does.
    pub cut_off: Option<Mono>,
}

/// The slot of one member.
pub struct Slot {
    member: MemberId,
    /// Whether its process runs programs of the user, which are stopped and continued with it.
    works: bool,
    state: watch::Sender<State>,
    process: Mutex<Option<Arc<Process>>>,
    /// How the process is signalled, if Tandem did not start it.
    far: Mutex<Option<Far>>,
    signalled: AtomicU64,
    /// The number of lives so far, including those of second processes.
    lives: AtomicU32,
    restart_after: Mutex<Option<Duration>>,
}

impl Slot {
    pub(super) fn new(member: MemberId, works: bool) -> Self {
        let (incarnation, phase, since) = (Incarnation(0), Phase::Absent, Mono::ZERO);
        let state = State { incarnation, phase, since, cut_off: None };
        Self {
            member,
            works,
            state: watch::Sender::new(state),
            process: Mutex::default(),
            far: Mutex::default(),
            signalled: AtomicU64::new(0),
            lives: AtomicU32::new(0),
            restart_after: Mutex::default(),
        }
    }

    /// The current state.
    #[must_use]
    pub fn state(&self) -> State {
        *self.state.borrow()
    }

    /// The current life, or the last one.
    #[must_use]
    pub fn life(&self) -> Life {
        Life { member: self.member.clone(), incarnation: self.state().incarnation }
    }

    /// A new life, with a number that no other life has.
    #[must_use]
    pub fn next_life(&self) -> Life {
        let incarnation = Incarnation(self.lives.fetch_add(1, Ordering::Relaxed) + 1);
        Life { member: self.member.clone(), incarnation }
    }

    /// Waits for a wanted state, for at most `within`.
    pub async fn reaches(&self, within: Duration, wanted: impl Fn(State) -> bool) -> Option<State> {
        let mut states = self.state.subscribe();
        let reached = states.wait_for(|&state| wanted(state));
        let state = *tokio::time::timeout(within, reached).await.ok()?.ok()?;
        Some(state)
    }

    /// Whether a process runs that can be signalled.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.process().is_some() || lock(&self.far).is_some()
    }

    /// The process that runs, if one does that Tandem started.
    #[must_use]
    pub fn process(&self) -> Option<Arc<Process>> {
        lock(&self.process).clone()
    }

    /// Sends a signal to the process, if one runs. The time before the signal is kept as the
    /// earliest time of its effect.
    ///
    /// # Errors
    /// The signal cannot be sent.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let far = lock(&self.far).clone();
        if let Some(far) = far {
            return far.signal(signal);
        }
        let Some(process) = self.process() else { return Ok(()) };
        self.signalled.store(Mono::now().0, Ordering::Relaxed);
        process.signal(signal)?;
        // A program ends with its member by its keeper.
        let reached = if self.works && matches!(signal, Signal::STOP | Signal::CONT) {
            signal_families(&[process.pid()], signal)
        } else {
            Ok(())
        };
        if reached.is_err() && signal == Signal::STOP {
            // The caller gets the error, and does not wake the member.
            process.signal(Signal::CONT)?;
            signal_families(&[process.pid()], Signal::CONT).ok();
        }
        reached
    }

    /// The time just before the last signal.
    pub(super) fn signalled(&self) -> Mono {
        Mono(self.signalled.load(Ordering::Relaxed))
    }

    /// Sets how long after the next death the member is restarted, in place of the topology's
    /// value.
    pub fn restart_once_after(&self, after: Duration) {
        *lock(&self.restart_after) = Some(after);
    }

    pub(super) fn take_restart(&self) -> Option<Duration> {
        lock(&self.restart_after).take()
    }

    pub(super) fn born(&self, since: Mono, incarnation: Incarnation, process: Arc<Process>) {
        *lock(&self.process) = Some(process);
        self.runs(since, incarnation);
    }

    pub(super) fn born_outside(&self, since: Mono, incarnation: Incarnation, far: Far) {
        *lock(&self.far) = Some(far);
        self.runs(since, incarnation);
    }

    fn runs(&self, since: Mono, incarnation: Incarnation) {
        let phase = Phase::Running;
        self.state.send_replace(State { incarnation, phase, since, cut_off: None });
    }

    /// Since when an order keeps it from its brokers; none if all passes.
    pub(super) fn cut_off(&self, since: Option<Mono>) {
        self.state.send_modify(|state| state.cut_off = since);
    }

    /// Orders something of a member that Tandem did not start.
    ///
    /// # Errors
    /// It is none, or is not there, or the order cannot be sent.
    pub fn order(&self, deed: Deed) -> io::Result<()> {
        let far = lock(&self.far).clone();
        far.map_or_else(|| Err(io::ErrorKind::NotConnected.into()), |far| far.order(deed))
    }

    pub(super) fn turn(&self, since: Mono, phase: Phase) {
        if phase == Phase::Absent {
            *lock(&self.process) = None;
            *lock(&self.far) = None;
        }
        self.state.send_modify(|state| *state = State { phase, since, ..*state });
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
