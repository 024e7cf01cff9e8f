//! How a run ends when more than one thing goes wrong.

use std::time::Duration;

use crate::controller::Recorder;
use crate::guard::{Guard, Loss};
use crate::observation::{Outcome, RunEvent};

/// How an experiment ended, and the reason, if there is one to report.
pub(super) type Ending = (Outcome, Option<String>);

/// Adds an error that left something unhealed to the ending so far.
pub(super) fn unhealed(ending: Ending, error: &(dyn std::error::Error + 'static)) -> Ending {
    let why = crate::error::chain(error);
    match ending {
        (Outcome::Unhealed, Some(before)) if !before.contains(&why) => {
            (Outcome::Unhealed, Some(format!("{before}; {why}")))
        }
        _ => (Outcome::Unhealed, Some(why)),
    }
}

/// Accounts for the loss of the guard. If this process was stopped for too long, the guard has
/// ended the run meanwhile, and that is the reason why brokers and members are gone.
pub(super) async fn without_guard(ending: Ending, guard: &Guard, record: &Recorder) -> Ending {
    while guard.doubts() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    if let Some(from) = guard.left_alone() {
        record.note(None, RunEvent::Unattended { from });
    }
    match ending.0 {
        Outcome::Broken | Outcome::Aborted | Outcome::Unhealed => {}
        Outcome::Completed | Outcome::Interrupted => return ending,
    }
    match (ending.0, guard.loss()) {
        (_, None) | (Outcome::Unhealed, Some(Loss::Died | Loss::Mute)) => ending,
        // The guard has undone the rest; what it could not undo is in its ledger.
        (_, Some(loss)) => (Outcome::Broken, Some(loss.to_string())),
    }
}

/// Returns when the guard is gone, with the reason.
pub(super) async fn unguarded(guard: &Guard) -> Loss {
    loop {
        if let Some(loss) = guard.loss() {
            return loss;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
