//! `pause`: SIGSTOP, and SIGCONT as its heal. Longer than the session, it makes zombies: members
//! that wake and believe what they believed before.

use std::time::Duration;

use rustix::process::Signal;

use super::arena::{Arena, FaultError, Victim};
use crate::controller::Phase;
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
    arena.signal_all(victims, fault, "pause", Signal::STOP)?;
    let mut last = Mono::ZERO;
    for victim in victims {
        await_phase(victim, Phase::Stopped, "stopped").await?;
        last = last.max(arena.in_force(victim, fault));
    }
    Ok(last)
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
        let woken = await_phase(victim, Phase::Running, "woken").await;
        if woken.is_ok() {
            arena.healed(victim, fault);
        }
        outcome = outcome.and(woken);
    }
    outcome
}

/// Waits for the phase; a victim that died meanwhile is beyond it.
async fn await_phase(victim: &Victim, phase: Phase, name: &'static str) -> Result<(), FaultError> {
    let life = victim.life.incarnation;
    let reached = victim.slot.reaches(EFFECT, |state| {
        state.incarnation > life || state.phase == phase || state.phase == Phase::Absent
    });
    match reached.await {
        Some(_) => Ok(()),
        None => {
            let life = victim.life.clone();
            Err(FaultError::Late { life, state: name, within: EFFECT })
        }
    }
}
