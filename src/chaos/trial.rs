//! One trial: passes the gate, runs every strike at its time, heals everything, waits for recovery.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::watch;

use super::Schedule;
use super::arena::Arena;
use super::strike::{InForce, Progress, strike};
use crate::controller::Unsettled;
use crate::ids::TrialNumber;
use crate::observation::RunEvent;
use crate::time::Mono;

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Played {
    /// It ended, and everything settled again.
    Recovered,
    /// It ended, but something did not settle in time.
    Unrecovered(Unsettled),
    /// It was stopped; everything was healed.
    Stopped,
    /// Something could not be healed.
    Unhealed(String),
}

/// Runs one trial.
///
/// # Errors
/// The trial did not begin, because not everything settled `within` the time.
pub async fn play(
    arena: &Arena<'_>,
    schedule: &Schedule,
    trial: TrialNumber,
    within: Duration,
) -> Result<Played, Unsettled> {
    tokio::select! {
        biased;
        () = arena.stop.cancelled() => return Ok(Played::Stopped),
        gate = arena.gate.settled(within) => gate?,
    }
    let began = (arena.mark)(RunEvent::TrialBegan { trial });
    let played = tokio::select! {
        biased;
        never = arena.look_out() => match never {},
        played = disturb(arena, schedule, trial, began, within) => played,
    };
    let recovered = match &played {
        Played::Recovered => Some(true),
        // A stopped trial had no time to recover, even if a heal failed.
        Played::Unhealed(_) if arena.stop.is_cancelled() => None,
        Played::Unrecovered(_) | Played::Unhealed(_) => Some(false),
        Played::Stopped => None,
    };
    (arena.mark)(RunEvent::TrialEnded { trial, recovered });
    Ok(played)
}

/// Runs every strike at its time, heals everything, waits for recovery.
async fn disturb(
    arena: &Arena<'_>,
    schedule: &Schedule,
    trial: TrialNumber,
    began: Mono,
    within: Duration,
) -> Played {
    let steps = schedule.strikes.iter().map(|strike| strike.step.id.clone());
    let in_force: InForce =
        steps.map(|step| (step, watch::Sender::new(Progress::default()))).collect();
    let strikes = schedule.strikes.iter();
    let strikes = strikes.map(|one| strike(arena, one, trial, began, &in_force, within));
    let unhealed: Vec<String> = join_all(strikes)
        .await
        .into_iter()
        .filter_map(|healed| healed.err().map(|error| error.to_string()))
        .collect();
    if !unhealed.is_empty() {
        Played::Unhealed(unhealed.join("; "))
    } else if arena.stop.is_cancelled() {
        Played::Stopped
    } else {
        tokio::select! {
            biased;
            () = arena.stop.cancelled() => Played::Stopped,
            settled = arena.gate.settled(within) => match settled {
                Ok(()) => Played::Recovered,
                Err(unsettled) => Played::Unrecovered(unsettled),
            },
        }
    }
}
