//! `kill`, `leave`, `stop`, `host`: members end. The heal is the restart, which belongs to the
//! fleet; here it is only awaited.
//!
//! What differs is how they are asked: by SIGKILL, which nobody hears; by SIGTERM, upon which a
//! member leaves its group, stops leading and ends; by an order to end without leaving.

use std::time::Duration;

use rustix::process::Signal;

use super::Departure;
use super::arena::{Arena, FaultError, Victim};
use crate::controller::Phase;
use crate::ids::FaultId;
use crate::member::Order;
use crate::time::Mono;

/// The kernel ends a process within milliseconds, on a busy host too; a member that leaves gives
/// its client two seconds to close.
const GONE: Duration = Duration::from_secs(5);

/// Ends all victims at once; the stamp at which the last was known to be gone.
pub(super) async fn inject(
    arena: &Arena<'_>,
    fault: &FaultId,
    by: Departure,
    victims: &[Victim],
) -> Result<Mono, FaultError> {
    for victim in victims {
        arena.asked(victim, fault, by.kind());
        ask(victim, by)?;
    }
    let mut last = Mono::ZERO;
    for victim in victims {
        let Some(gone) = gone(victim).await else {
            let life = victim.life.clone();
            return Err(FaultError::Late { life, state: "gone", within: GONE });
        };
        last = last.max(gone);
        arena.in_force(victim, fault);
    }
    Ok(last)
}

fn ask(victim: &Victim, by: Departure) -> Result<(), FaultError> {
    match by {
        Departure::Kill | Departure::Host => Arena::signal(victim, Signal::KILL),
        Departure::Leave => Arena::signal(victim, Signal::TERM),
        Departure::Stop => {
            let Some(process) = victim.slot.process() else { return Ok(()) };
            process.order(&Order::Exit.line()).map_err(|error| {
                let (life, why) = (victim.life.clone(), error.to_string());
                FaultError::Signal { life, why }
            })
        }
    }
}

/// Since when the life is over, once it is.
async fn gone(victim: &Victim) -> Option<Mono> {
    let life = victim.life.incarnation;
    let over =
        |state: crate::controller::State| state.incarnation > life || state.phase == Phase::Absent;
    victim.slot.reaches(GONE, over).await.map(|state| state.since)
}

/// Waits until every victim lives again. One that does not keeps no other from being seen to.
pub(super) async fn heal(
    arena: &Arena<'_>,
    fault: &FaultId,
    victims: &[Victim],
    restart_after: Duration,
) -> Result<(), FaultError> {
    let within = restart_after + GONE;
    let mut outcome = Ok(());
    // Who was asked and did not go is in nobody's hands: nothing would ever start it again.
    for victim in victims.iter().filter(|victim| victim.lives()) {
        outcome = outcome.and(Arena::signal(victim, Signal::KILL));
    }
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

impl Victim {
    /// Whether the life that was to be hit goes on.
    fn lives(&self) -> bool {
        let state = self.slot.state();
        state.incarnation == self.life.incarnation && state.phase != Phase::Absent
    }
}
