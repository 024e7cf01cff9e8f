//! Ends members and waits for them. The heal is the restart, which the fleet does.
//!
//! The faults differ in how they end a member: by SIGKILL, which a process cannot handle; by
//! SIGTERM, on which a member leaves its group, stops leading and ends; by a command to end without
//! leaving.

use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use rustix::process::Signal;

use super::By;
use crate::chaos::arena::{Arena, FaultError, Victim};
use crate::chaos::{Case, Injection};
use crate::controller::Phase;
use crate::host::DEATH;
use crate::member::MemberCommand;
use crate::time::Mono;

/// How much longer a member may be away that others start again, and whose facts travel.
const BY_OTHERS: Duration = Duration::from_secs(25);

/// Ends members, and waits until they are back.
pub(super) struct Shell(pub(super) By);

impl Injection for Shell {
    /// Ends all victims at once. Returns the instant when the last was known to be gone.
    fn inject<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<Mono, FaultError>> {
        Box::pin(async move {
            for victim in case.victims() {
                case.asked(Some(&victim.life));
                ask(victim, self.0)?;
            }
            let mut last = Mono::ZERO;
            for victim in case.victims() {
                let within = DEATH + hands_over(case, victim);
                let Some(gone) = gone(victim, within).await else {
                    return Err(late(victim, "gone", within));
                };
                last = last.max(gone);
                case.in_force(Some(&victim.life));
            }
            Ok(last)
        })
    }

    fn heal<'a>(&'a self, case: &'a Case<'a>) -> LocalBoxFuture<'a, Result<(), FaultError>> {
        Box::pin(heal(case))
    }
}

fn ask(victim: &Victim, by: By) -> Result<(), FaultError> {
    match by {
        By::Kill => Arena::signal(victim, Signal::KILL),
        By::Leave => Arena::signal(victim, Signal::TERM),
        By::Stop => {
            let Some(process) = victim.slot.process() else { return Ok(()) };
            process.order(&MemberCommand::Exit.line()).map_err(|error| {
                let (life, why) = (victim.life.clone(), error.to_string());
                FaultError::Signal { life, why }
            })
        }
    }
}

/// The error of a victim that is not in this state: its process says why, where it is still there.
fn late(victim: &Victim, state: &'static str, within: Duration) -> FaultError {
    let life = victim.life.clone();
    match victim.slot.process().filter(|_| victim.lives()) {
        Some(process) => {
            FaultError::Outlived { life, state, within, condition: process.condition() }
        }
        None => FaultError::Late { life, state, within },
    }
}

/// How long a victim may lead on until others do.
fn hands_over(case: &Case<'_>, victim: &Victim) -> Duration {
    let plan = case.arena.plan;
    let group = plan.group_of(&victim.life.member).and_then(|name| plan.groups.get(name));
    group.map_or(Duration::ZERO, |group| group.pace.threshold.get())
}

/// Waits until the life is over. Returns since when.
async fn gone(victim: &Victim, within: Duration) -> Option<Mono> {
    let life = victim.life.incarnation;
    let over =
        |state: crate::controller::State| state.incarnation > life || state.phase == Phase::Absent;
    victim.slot.reaches(within, over).await.map(|state| state.since)
}

/// Waits until every victim runs again, even if one of them fails to.
async fn heal(case: &Case<'_>) -> Result<(), FaultError> {
    let mut outcome = Ok(());
    // A victim that did not end by itself is killed: otherwise the fleet never restarts it.
    for victim in case.victims().iter().filter(|victim| victim.lives()) {
        outcome = outcome.and(Arena::signal(victim, Signal::KILL));
    }
    for victim in case.victims() {
        let life = victim.life.incarnation;
        let plan = case.arena.plan;
        let group = plan.group_of(&victim.life.member).and_then(|name| plan.groups.get(name));
        let by_others = group.is_some_and(|group| !group.is_started());
        let within =
            case.restart_after + DEATH + if by_others { BY_OTHERS } else { Duration::ZERO };
        let reborn = victim
            .slot
            .reaches(within, |state| state.incarnation > life && state.phase != Phase::Absent);
        // A stopping run restarts no member.
        let reborn = tokio::select! {
            biased;
            () = case.arena.stop.cancelled() => return Ok(()),
            reborn = reborn => reborn,
        };
        if reborn.is_some() {
            case.healed(Some(&victim.life));
        } else {
            outcome = outcome.and(Err(late(victim, "restarted", within)));
        }
    }
    outcome
}

impl Victim {
    /// Whether the life that the fault hit is still running.
    fn lives(&self) -> bool {
        let state = self.slot.state();
        state.incarnation == self.life.incarnation && state.phase != Phase::Absent
    }
}
