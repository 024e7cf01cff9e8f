//! Ctrl-C and its like: asked once, a run ends in order; asked twice, at once.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Failure;
use crate::verdict::Exit;

/// Whoever may ask a run to end.
#[derive(Clone, Default)]
pub(super) struct Interrupt {
    token: CancellationToken,
    /// A terminal is to be left as it was found.
    on_terminal: Arc<AtomicBool>,
}

impl Interrupt {
    /// What is cancelled when it is asked to.
    pub(super) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Asks it to end; asked twice, it ends at once, and the guard does what is left to do.
    pub(super) fn ask(&self) {
        if self.token.is_cancelled() {
            leave_at_once(self.on_terminal.load(Ordering::Relaxed));
        }
        self.token.cancel();
    }

    /// Whether the terminal shows a page now.
    pub(super) fn on_terminal(&self, shows: bool) {
        self.on_terminal.store(shows, Ordering::Relaxed);
    }

    /// Listens for signals until the set is dropped.
    pub(super) fn listen(&self) -> Result<JoinSet<()>, Failure> {
        let mut signals = JoinSet::new();
        for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
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

#[expect(clippy::exit, reason = "the second signal ends the process, whatever it is doing")]
fn leave_at_once(on_terminal: bool) {
    if on_terminal {
        // It could not be restored: there is nothing else to be done.
        ratatui::try_restore().ok();
    }
    process::exit(130);
}
