//! How a run ends where more than one thing goes wrong.

use std::time::Duration;

use crate::controller::Record;
use crate::guard::{Guard, Loss};
use crate::observation::{Outcome, What};

/// How an experiment came to its end, and why, where there is something to say.
pub(super) type Ending = (Outcome, Option<String>);

/// What failed beside whatever failed before.
pub(super) fn unhealed(ending: Ending, error: &(dyn std::error::Error + 'static)) -> Ending {
    let why = crate::error::chain(error);
    match ending {
        (Outcome::Unhealed, Some(before)) if !before.contains(&why) => {
            (Outcome::Unhealed, Some(format!("{before}; {why}")))
        }
        _ => (Outcome::Unhealed, Some(why)),
    }
}

/// Whoever was stopped for too long wakes up to a run that its guard has ended: that is why
/// brokers are gone and members are dead, whatever was noticed first.
pub(super) async fn without_guard(ending: Ending, guard: &Guard, record: &Record) -> Ending {
    while guard.doubts() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    if let Some(from) = guard.left_alone() {
        record.note(None, What::Unattended { from });
    }
    match ending.0 {
        Outcome::Broken | Outcome::Aborted | Outcome::Unhealed => {}
        Outcome::Completed | Outcome::Interrupted => return ending,
    }
    match (ending.0, guard.loss()) {
        (_, None) | (Outcome::Unhealed, Some(Loss::Died | Loss::Mute)) => ending,
        // What was not healed here in time was by then; what was not is found in its ledger.
        (_, Some(loss)) => (Outcome::Broken, Some(loss.to_string())),
    }
}

/// Returns once there is no guard any more, and says why.
pub(super) async fn unguarded(guard: &Guard) -> Loss {
    loop {
        if let Some(loss) = guard.loss() {
            return loss;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
