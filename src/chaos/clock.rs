//! `clock`: a member is told to be wrong about the time of day. It says what its wall clock says,
//! and that is compared with the truth: a clock fault that does not bite has failed.

use std::time::Duration;

use super::Kind;
use super::arena::{Arena, FaultError, Victim};
use crate::ids::FaultId;
use crate::member::Order;
use crate::time::{Mono, Skew, Wall};

/// How long a member may take to hear an order: it listens each wake period.
const HEARD: Duration = Duration::from_secs(5);
/// How far the clock may be from where it was told to be: two clocks are read, one after the other.
const OFF_MOST_MS: u64 = 25;
/// How often one looks whether the member has said it.
const LOOK: Duration = Duration::from_millis(2);

/// Shifts the clocks of all victims; when the last was known to be wrong.
pub(super) async fn inject(
    arena: &Arena<'_>,
    fault: &FaultId,
    skew: Skew,
    victims: &[Victim],
) -> Result<Mono, FaultError> {
    let asked = Mono::now();
    for victim in victims {
        arena.asked(victim, fault, Kind::Clock);
        order(victim, skew)?;
    }
    let mut last = Mono::ZERO;
    for victim in victims {
        let at = agrees(arena, victim, asked, skew).await?;
        arena.in_force_at(at, victim, fault);
        last = last.max(at);
    }
    Ok(last)
}

/// Sets the clocks of all victims right. One that cannot be reached keeps no other wrong.
pub(super) async fn heal(
    arena: &Arena<'_>,
    fault: &FaultId,
    victims: &[Victim],
) -> Result<(), FaultError> {
    let asked = Mono::now();
    let mut outcome = Ok(());
    let there = |victim: &&Victim| victim.slot.life() == victim.life;
    // Whoever has died meanwhile lives again with a clock that is right.
    for victim in victims.iter().filter(there) {
        outcome = outcome.and(order(victim, Skew::NONE));
    }
    for victim in victims {
        let right = match there(&victim) {
            true => agrees(arena, victim, asked, Skew::NONE).await,
            false => Ok(Mono::now()),
        };
        if let Ok(at) = right {
            arena.healed_at(at, victim, fault);
        }
        // A death in between has healed it as well.
        outcome = outcome
            .and(right.map(drop).or_else(|error| if there(&victim) { Err(error) } else { Ok(()) }));
    }
    outcome
}

fn order(victim: &Victim, skew: Skew) -> Result<(), FaultError> {
    let Some(process) = victim.slot.process() else { return Ok(()) };
    process
        .order(&Order::Clock(skew).line())
        .map_err(|error| FaultError::Signal { life: victim.life.clone(), why: error.to_string() })
}

/// Waits until the member says what it should say by now; when it said so.
async fn agrees(
    arena: &Arena<'_>,
    victim: &Victim,
    asked: Mono,
    skew: Skew,
) -> Result<Mono, FaultError> {
    let life = || victim.life.clone();
    let began = Mono::now();
    while Mono::now().since(began) < HEARD {
        let said = arena.record.look(|standing| standing.clock(&victim.life));
        if let Some((at, wall)) = said.filter(|(at, _)| *at >= asked) {
            let wanted = skew.after(Duration::ZERO) / 1_000_000;
            let off = ahead(at, wall).abs_diff(wanted);
            // One that drifts is a little off where it should be, the later it is heard.
            if off <= OFF_MOST_MS + u64::from(skew.drift_ppm.unsigned_abs()) / 1_000 {
                return Ok(at);
            }
        }
        tokio::time::sleep(LOOK).await;
    }
    let state = if skew == Skew::NONE { "right about the time" } else { "wrong about the time" };
    Err(FaultError::Late { life: life(), state, within: HEARD })
}

/// How far ahead of the truth a wall clock was that said `wall` at `at`, in milliseconds.
fn ahead(at: Mono, wall: Wall) -> i64 {
    let (truth, now) = (Wall::now(), Mono::now());
    let ago = i64::try_from(now.since(at).as_millis()).unwrap_or(i64::MAX);
    wall.0.saturating_sub(truth.0.saturating_sub(ago))
}
