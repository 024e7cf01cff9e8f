//! A second process by a member's name: the same arguments, so the same `client.id`, and a life of
//! its own in the journal.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::process::ChildStdout;
use tokio::task::JoinSet;

use super::fleet::live_out;
use super::{Process, ProcessError, Recorder};
use crate::ids::Life;
use crate::observation::What;

/// How long it has to leave its group, and then to die.
const FAREWELL: Duration = Duration::from_secs(4);

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
        record: Arc<Recorder>,
    ) -> Self {
        let process = Arc::new(process);
        record.note(Some(&life), What::Started { pid: process.pid() });
        let mut keeper = JoinSet::new();
        let (own, its) = (life.clone(), Arc::clone(&process));
        keeper.spawn(async move {
            live_out(&own, &its, facts, &record).await;
        });
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
