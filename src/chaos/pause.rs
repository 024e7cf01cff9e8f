//! `pause`: SIGSTOP, and SIGCONT as its heal. Longer than the session, it makes zombies: members
//! that wake and believe what they believed before.

use std::time::Duration;

use futures_util::future::select_all;
use rustix::process::Signal;

use super::Kind;
use super::arena::{Arena, FaultError, Victim};
use crate::controller::{Phase, State};
use crate::ids::FaultId;
use crate::time::Mono;

/// The kernel stops and wakes a process within milliseconds, on a busy host too.
const EFFECT: Duration = Duration::from_secs(5);

/// Stops all victims at once; the stamp at which the last was known to be stopped.
pub(super) async fn inject(
    arena: &Arena<'_>,
    fault: &FaultId,
    victims: &[Victim],
) -> Result<Mono, FaultError> {
    arena.signal_all(victims, fault, Kind::Pause, Signal::STOP)?;
    let mut last = Mono::ZERO;
    for victim in victims {
        let stopped = victim.slot.reaches(EFFECT, |state| holds(victim, state));
        if stopped.await.is_none() {
            let life = victim.life.clone();
            return Err(FaultError::Late { life, state: "stopped", within: EFFECT });
        }
        last = last.max(arena.in_force(victim, fault));
    }
    Ok(last)
}

/// Returns once a victim is not stopped any more, though nobody here has woken it.
pub(super) async fn slips(victims: &[Victim]) -> FaultError {
    let one = |victim: &Victim| {
        let (victim, forever) = (victim.clone(), Duration::MAX);
        Box::pin(async move {
            victim.slot.reaches(forever, |state| !holds(&victim, state)).await;
            FaultError::Slipped { life: victim.life.clone(), state: "stopped" }
        })
    };
    select_all(victims.iter().map(one)).await.0
}

fn holds(victim: &Victim, state: State) -> bool {
    state.incarnation == victim.life.incarnation && state.phase == Phase::Stopped
}

/// Wakes all victims. One that cannot be woken keeps no other asleep.
pub(super) async fn heal(
    arena: &Arena<'_>,
    fault: &FaultId,
    victims: &[Victim],
) -> Result<(), FaultError> {
    let mut outcome = Ok(());
    for victim in victims {
        outcome = outcome.and(Arena::signal(victim, Signal::CONT));
    }
    for victim in victims {
        let woken = awake(victim).await;
        if woken.is_ok() {
            arena.healed(victim, fault);
        }
        outcome = outcome.and(woken);
    }
    outcome
}

/// Waits until it goes on; a victim that died meanwhile is beyond that.
async fn awake(victim: &Victim) -> Result<(), FaultError> {
    match victim.slot.reaches(EFFECT, |state| !holds(victim, state)).await {
        Some(_) => Ok(()),
        None => {
            let life = victim.life.clone();
            Err(FaultError::Late { life, state: "woken", within: EFFECT })
        }
    }
}
