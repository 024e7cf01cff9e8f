//! The pulse of the task that heals faults. The guard watches this pulse, because other threads of
//! the process may keep running while that task hangs.

use std::time::Duration;

use crate::guard::Guard;

/// The time between two pulses.
const BEAT: Duration = Duration::from_millis(250);

/// Runs `work`, and sends the guard a pulse as long as this task makes progress.
pub(super) async fn pulsed<W: Future>(guard: &Guard, work: W) -> W::Output {
    let mut work = Box::pin(work);
    let beat = async {
        loop {
            guard.pulse();
            tokio::time::sleep(BEAT).await;
        }
    };
    tokio::select! {
        biased;
        done = &mut work => done,
        done = beat => done,
    }
}
