//! Sets a member's wall clock wrong, and checks that the member observes it.

use std::time::Duration;

use futures_util::future::LocalBoxFuture;

use crate::chaos::arena::{Arena, FaultError, Victim};
use crate::chaos::{Case, Injection};
use crate::member::MemberCommand;
use crate::time::{Mono, Skew, Wall};

/// How long a member may take to receive a command: it reads them once per wake period.
const HEARD: Duration = Duration::from_secs(5);
/// How far the observed clock may be from the commanded one: the two clocks are read one after the
/// other.
const OFF_MOST_MS: u64 = 25;
/// How often to check whether the member has reported its clock.
const LOOK: Duration = Duration::from_millis(2);

pub(super) struct Shell(pub(super) Skew);

impl Injection for Shell {
    /// Shifts the clocks of all victims. Returns the instant when the last was known to be wrong.
    fn inject<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<Mono, FaultError>> {
        Box::pin(async move {
            let asked = Mono::now();
            for victim in case.victims() {
                case.asked(Some(&victim.life));
                order(victim, self.0)?;
            }
            let mut last = Mono::ZERO;
            for victim in case.victims() {
                let at = agrees(case.arena, victim, asked, self.0).await?;
                case.in_force_at(at, victim);
                last = last.max(at);
            }
            Ok(last)
        })
    }

    fn heal<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<(), FaultError>> {
        Box::pin(heal(case))
    }
}

/// Sets the clocks of all victims right. An unreachable victim does not keep the others wrong.
async fn heal(case: &Case<'_>) -> Result<(), FaultError> {
    let asked = Mono::now();
    let mut outcome = Ok(());
    let there = |victim: &&Victim| victim.slot.life() == victim.life;
    // A victim that has died meanwhile restarts with a correct clock.
    for victim in case.victims().iter().filter(there) {
        outcome = outcome.and(order(victim, Skew::NONE));
    }
    for victim in case.victims() {
        let right = match there(&victim) {
            true => agrees(case.arena, victim, asked, Skew::NONE).await,
            false => Ok(Mono::now()),
        };
        if let Ok(at) = right {
            case.healed_at(at, victim);
        }
        // A death in between has healed it too.
        outcome = outcome
            .and(right.map(drop).or_else(|error| if there(&victim) { Err(error) } else { Ok(()) }));
    }
    outcome
}

fn order(victim: &Victim, skew: Skew) -> Result<(), FaultError> {
    let Some(process) = victim.slot.process() else { return Ok(()) };
    process
        .order(&MemberCommand::Clock(skew).line())
        .map_err(|error| FaultError::Signal { life: victim.life.clone(), why: error.to_string() })
}

/// Waits until the member reports the expected clock. Returns the instant of that report.
async fn agrees(
    arena: &Arena<'_>,
    victim: &Victim,
    asked: Mono,
    skew: Skew,
) -> Result<Mono, FaultError> {
    let life = || victim.life.clone();
    let began = Mono::now();
    while Mono::now().since(began) < HEARD {
        let said = arena.record.look(|live| live.clock(&victim.life));
        if let Some((at, wall)) = said.filter(|(at, _)| *at >= asked) {
            let wanted = skew.after(Duration::ZERO) / 1_000_000;
            let off = ahead(at, wall).abs_diff(wanted);
            // A drifting clock moves further off between its reading and the comparison.
            if off <= OFF_MOST_MS + u64::from(skew.drift_ppm.unsigned_abs()) / 1_000 {
                return Ok(at);
            }
        }
        tokio::time::sleep(LOOK).await;
    }
    let state = if skew == Skew::NONE { "right about the time" } else { "wrong about the time" };
    Err(FaultError::Late { life: life(), state, within: HEARD })
}

/// How far ahead of true time a wall clock was that read `wall` at `at`, in milliseconds.
fn ahead(at: Mono, wall: Wall) -> i64 {
    let (truth, now) = (Wall::now(), Mono::now());
    let ago = i64::try_from(now.since(at).as_millis()).unwrap_or(i64::MAX);
    wall.0.saturating_sub(truth.0.saturating_sub(ago))
}
