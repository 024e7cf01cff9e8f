//! `kill`: SIGKILL. Its heal is the restart, which belongs to the fleet; here it is only awaited.

use std::time::Duration;

use rustix::process::Signal;

use super::arena::{Arena, FaultError, Victim};
use crate::controller::Phase;
use crate::ids::FaultId;
use crate::time::Mono;

/// The kernel ends a process within milliseconds, on a busy host too.
const DEATH: Duration = Duration::from_secs(5);

/// Kills all victims at once; the stamp at which the last was known to be dead.
pub(super) async fn inject(
    arena: &Arena<'_>,
    fault: &FaultId,
    victims: &[Victim],
) -> Result<Mono, FaultError> {
    arena.signal_all(victims, fault, "kill", Signal::KILL)?;
    let mut last = Mono::ZERO;
    for victim in victims {
        let life = victim.life.incarnation;
        let dead = victim
            .slot
            .reaches(DEATH, |state| state.incarnation > life || state.phase == Phase::Absent);
        let Some(dead) = dead.await else {
            let life = victim.life.clone();
            return Err(FaultError::Late { life, state: "dead", within: DEATH });
        };
        last = last.max(dead.since);
        arena.in_force(victim, fault);
    }
    Ok(last)
}

/// Waits until every victim lives again. One that does not keeps no other from being seen to.
pub(super) async fn heal(
    arena: &Arena<'_>,
    fault: &FaultId,
    victims: &[Victim],
    restart_after: Duration,
) -> Result<(), FaultError> {
    let within = restart_after + DEATH;
    let mut outcome = Ok(());
    for victim in victims {
        let life = victim.life.incarnation;
        let reborn = victim
            .slot
            .reaches(within, |state| state.incarnation > life && state.phase != Phase::Absent);
        // A run that stops restarts nobody.
        let reborn = tokio::select! {
            biased;
            () = arena.stop.cancelled() => return Ok(()),
            reborn = reborn => reborn,
        };
        if reborn.is_some() {
            arena.healed(victim, fault);
        } else {
            let life = victim.life.clone();
            outcome = outcome.and(Err(FaultError::Late { life, state: "restarted", within }));
        }
    }
    outcome
}
