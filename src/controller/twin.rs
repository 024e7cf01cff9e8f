//! A second process of a member: the same arguments, so the same `client.id`, but a life of its own
//! in the journal.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::process::ChildStdout;
use tokio::task::JoinSet;

use super::keeper::live_out;
use super::{Process, ProcessError, Recorder};
use crate::host::DEATH;
use crate::ids::Life;
use crate::observation::RunEvent;

/// How long it has to leave its group.
const FAREWELL: Duration = Duration::from_secs(4);

/// A process beside the one in the member's slot. Dropping it kills the process.
pub struct Twin {
    life: Life,
    process: Arc<Process>,
    keeper: JoinSet<()>,
}

/// The second process could not be started.
#[derive(Debug, thiserror::Error)]
pub enum TwinError {
    /// There is no such member.
    #[error("there is no member {0}")]
    Stranger(crate::ids::MemberId),
    /// The process cannot be started under the guard.
    #[error(transparent)]
    Process(#[from] ProcessError),
}

impl Twin {
    /// Records what the process writes as facts of `life`.
    pub(super) fn keep(
        life: Life,
        process: Process,
        facts: ChildStdout,
        record: Arc<Recorder>,
    ) -> Self {
        let process = Arc::new(process);
        record.note(Some(&life), RunEvent::Started { pid: process.pid(), external: None });
        let mut keeper = JoinSet::new();
        let (own, its) = (life.clone(), Arc::clone(&process));
        keeper.spawn(async move {
            live_out(&own, &its, facts, &record, |_| {}).await;
        });
        Self { life, process, keeper }
    }

    /// Its life.
    #[must_use]
    pub fn life(&self) -> &Life {
        &self.life
    }

    /// Asks it to leave, waits, and kills it if it remains. Returns whether it has ended.
    pub async fn end(mut self) -> bool {
        let leaves = (&[Signal::CONT, Signal::TERM][..], FAREWELL);
        for (signals, within) in [leaves, (&[Signal::KILL][..], DEATH)] {
            for signal in signals {
                self.process.signal(*signal).ok();
            }
            if tokio::time::timeout(within, self.keeper.join_next()).await.is_ok() {
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
