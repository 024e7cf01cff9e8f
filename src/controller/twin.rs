//! A second process by a member's name: the same arguments, so the same `client.id`, and a life of
//! its own in the journal.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::process::ChildStdout;
use tokio::task::JoinSet;

use super::fleet::relay;
use super::{Exit, Process, ProcessError, Record};
use crate::ids::Life;
use crate::observation::What;
use crate::time::Mono;

/// How long it has to leave its group, and then to die.
const FAREWELL: Duration = Duration::from_secs(4);
/// How long what it wrote may take to be read.
const DRAIN: Duration = Duration::from_secs(1);

/// A process beside the one that a slot knows; dropped, it is killed.
pub struct Twin {
    life: Life,
    process: Arc<Process>,
    keeper: JoinSet<()>,
}

/// Why there is no second process.
#[derive(Debug, thiserror::Error)]
pub enum TwinError {
    /// Nobody of this name is known.
    #[error("nobody is called {0}")]
    Stranger(crate::ids::MemberId),
    /// The system or the guard refuses.
    #[error(transparent)]
    Process(#[from] ProcessError),
}

impl Twin {
    /// Writes down what the process tells as facts of `life`, whatever it calls itself.
    pub(super) fn keep(
        life: Life,
        process: Process,
        facts: ChildStdout,
        record: Arc<Record>,
    ) -> Self {
        let process = Arc::new(process);
        record.note(Some(&life), What::Started { pid: process.pid() });
        let mut keeper = JoinSet::new();
        keeper.spawn(live(life.clone(), Arc::clone(&process), facts, record));
        Self { life, process, keeper }
    }

    /// Its life.
    #[must_use]
    pub fn life(&self) -> &Life {
        &self.life
    }

    /// Asks it to leave, waits, kills it; whether it has ended.
    pub async fn end(mut self) -> bool {
        for signals in [&[Signal::CONT, Signal::TERM][..], &[Signal::KILL][..]] {
            for signal in signals {
                self.process.signal(*signal).ok();
            }
            if tokio::time::timeout(FAREWELL, self.keeper.join_next()).await.is_ok() {
                return true;
            }
        }
        false
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        self.process.signal(Signal::KILL).ok();
    }
}

/// Its life, until the process has ended and all that it wrote is read.
async fn live(life: Life, process: Arc<Process>, facts: ChildStdout, record: Arc<Record>) {
    let (mut relay, mut drained) = (std::pin::pin!(relay(&life, facts, &record)), false);
    let exit: Exit = tokio::select! {
        biased;
        exit = process.ended() => exit,
        () = &mut relay => {
            drained = true;
            process.ended().await
        }
    };
    let died = Mono::now();
    if !drained {
        tokio::time::timeout(DRAIN, relay).await.ok();
    }
    let Exit { signal, status } = exit;
    record.note_at(died, Some(&life), What::Died { signal, status });
}
