//! Handles Ctrl-C and similar signals: the first ends a run in order, the second ends the process
//! at once.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Failure;
use crate::guard::Identity;
use crate::host::ending_signals;
use crate::verdict::Exit;

/// A shared request to end a run.
#[derive(Clone, Default)]
pub(super) struct Interrupt {
    token: CancellationToken,
    /// Whether the terminal shows a page, and must be restored.
    on_terminal: Arc<AtomicBool>,
    /// Asking again changes nothing.
    patient: bool,
    /// The process that ends at once with this one.
    with_it: Arc<OnceLock<Identity>>,
}

impl Interrupt {
    /// One that may be asked any number of times, by several processes at once: that of a
    /// supervisor, which `tandem up`, `halt` and an init system may ask.
    pub(super) fn patient() -> Self {
        Self { patient: true, ..Self::default() }
    }

    /// Cancelled when the run is asked to end.
    pub(super) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Asks the run to end. The second call ends the process at once, and the guard undoes the
    /// rest.
    pub(super) fn ask(&self) {
        if self.token.is_cancelled() && !self.patient {
            if let Some(process) = self.with_it.get() {
                // If this fails, it has ended.
                process.signal(&[Signal::KILL, Signal::CONT]).ok();
            }
            leave_at_once(self.on_terminal.load(Ordering::Relaxed));
        }
        self.token.cancel();
    }

    /// Sets whether the terminal shows a page.
    pub(super) fn on_terminal(&self, shows: bool) {
        self.on_terminal.store(shows, Ordering::Relaxed);
    }

    /// Sets the process that ends at once with this one.
    pub(super) fn also_ends(&self, process: Identity) {
        // There is one in the life of this process.
        self.with_it.set(process).ok();
    }

    /// Listens for signals until the returned set is dropped.
    pub(super) fn listen(&self) -> Result<JoinSet<()>, Failure> {
        let mut signals = JoinSet::new();
        for kind in ending_signals().into_iter().map(SignalKind::from_raw) {
            let mut signal = signal(kind).map_err(|error| Failure::new(Exit::Unable, &error))?;
            let interrupt = self.clone();
            signals.spawn(async move {
                while signal.recv().await.is_some() {
                    interrupt.ask();
                }
            });
        }
        Ok(signals)
    }
}

#[expect(clippy::exit, reason = "the second signal ends the process at once")]
fn leave_at_once(on_terminal: bool) {
    if on_terminal {
        // The process ends in any case.
        ratatui::try_restore().ok();
    }
    process::exit(130);
}
