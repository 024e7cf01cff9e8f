//! Pauses members, and continues them.

use std::future::pending;
use std::time::Duration;

use futures_util::future::{LocalBoxFuture, select_all};
use rustix::process::Signal;

use crate::chaos::arena::{Arena, FaultError, Victim};
use crate::chaos::{Case, Injection};
use crate::controller::{Phase, State};
use crate::time::Mono;

/// The kernel stops and continues a process within milliseconds, even on a busy host.
const EFFECT: Duration = Duration::from_secs(5);

pub(super) struct Shell;

impl Injection for Shell {
    /// Stops all victims at once. Returns the instant when the last was known to be stopped.
    fn inject<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<Mono, FaultError>> {
        Box::pin(async move {
            for victim in case.victims() {
                case.asked(Some(&victim.life));
                Arena::signal(victim, Signal::STOP)?;
            }
            let mut last = Mono::ZERO;
            for victim in case.victims() {
                let stopped = victim.slot.reaches(EFFECT, |state| holds(victim, state));
                if stopped.await.is_none() {
                    let life = victim.life.clone();
                    return Err(FaultError::Late { life, state: "stopped", within: EFFECT });
                }
                last = last.max(case.in_force(Some(&victim.life)));
            }
            Ok(last)
        })
    }

    /// Continues all victims. One that cannot be continued does not keep the others stopped.
    fn heal<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<(), FaultError>> {
        Box::pin(async move {
            let mut outcome = Ok(());
            for victim in case.victims() {
                outcome = outcome.and(Arena::signal(victim, Signal::CONT));
            }
            for victim in case.victims() {
                let woken = awake(victim).await;
                if woken.is_ok() {
                    case.healed(Some(&victim.life));
                }
                outcome = outcome.and(woken);
            }
            outcome
        })
    }

    /// Returns once a victim is no longer stopped although this fault did not continue it.
    fn slips<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, FaultError> {
        let one = |victim: &Victim| {
            let (victim, forever) = (victim.clone(), Duration::MAX);
            Box::pin(async move {
                victim.slot.reaches(forever, |state| !holds(&victim, state)).await;
                FaultError::Slipped { life: victim.life.clone(), state: "stopped" }
            })
        };
        if case.victims().is_empty() {
            return Box::pin(pending());
        }
        let all = select_all(case.victims().iter().map(one));
        Box::pin(async move { all.await.0 })
    }
}

fn holds(victim: &Victim, state: State) -> bool {
    state.incarnation == victim.life.incarnation && state.phase == Phase::Stopped
}

/// Waits until the victim runs again, or has died meanwhile.
async fn awake(victim: &Victim) -> Result<(), FaultError> {
    match victim.slot.reaches(EFFECT, |state| !holds(victim, state)).await {
        Some(_) => Ok(()),
        None => {
            let life = victim.life.clone();
            Err(FaultError::Late { life, state: "woken", within: EFFECT })
        }
    }
}
