//! Cuts members off that others started: an order to the witness has the member's own edge lose its
//! traffic with its brokers. The order holds for some seconds and is renewed meanwhile.

use std::time::Duration;

use crate::chaos::Case;
use crate::chaos::arena::{Arena, FaultError, Victim};
use crate::controller::State;
use crate::external::Deed;
use crate::time::Mono;

/// How long an order may take, and the word that it was carried out.
const EFFECT: Duration = Duration::from_secs(5);

/// Whether the victim takes orders.
pub(in crate::chaos::faults::network) fn is_one(arena: &Arena<'_>, victim: &Victim) -> bool {
    let group = arena.plan.group_of(&victim.life.member);
    let group = group.and_then(|name| arena.plan.groups.get(name));
    group.is_some_and(crate::topology::PlannedGroup::takes_orders)
}

/// Cuts those of the victims off. Returns when the last was known to be.
pub(in crate::chaos::faults::network) async fn cut_off(
    case: &Case<'_>,
) -> Result<Mono, FaultError> {
    let victims = || case.victims().iter().filter(|victim| is_one(case.arena, victim));
    let asked = Mono::now();
    for victim in victims() {
        order(victim, Deed::Cut)?;
    }
    let mut last = Mono::ZERO;
    for victim in victims() {
        let reached = victim.slot.reaches(EFFECT, |state| holds(victim, state)).await;
        let since = reached.and_then(|state| state.cut_off);
        let since = since.ok_or_else(|| late(victim, "cut off from its brokers"))?;
        // It may have been said by another clock, which is known to within an error.
        let at = since.max(asked);
        case.in_force_at(at, victim);
        last = last.max(at);
    }
    Ok(last)
}

/// Lets everything pass again. A victim that has died meanwhile comes back uncut.
pub(in crate::chaos::faults::network) async fn heal(case: &Case<'_>) -> Result<(), FaultError> {
    let victims = || case.victims().iter().filter(|victim| is_one(case.arena, victim));
    let mut outcome = Ok(());
    for victim in victims().filter(|victim| victim.slot.life() == victim.life) {
        outcome = outcome.and(order(victim, Deed::Mend));
    }
    for victim in victims() {
        match victim.slot.reaches(EFFECT, |state| !holds(victim, state)).await {
            Some(_) => case.healed_at(Mono::now(), victim),
            None => outcome = outcome.and(Err(late(victim, "let through to its brokers"))),
        }
    }
    outcome
}

/// Returns once a victim is not cut off any more although this fault did not heal it.
pub(in crate::chaos::faults::network) async fn slips(victim: &Victim) -> FaultError {
    victim.slot.reaches(Duration::MAX, |state| !holds(victim, state)).await;
    FaultError::Slipped { life: victim.life.clone(), state: "cut off from its brokers" }
}

fn holds(victim: &Victim, state: State) -> bool {
    state.incarnation == victim.life.incarnation && state.cut_off.is_some()
}

fn order(victim: &Victim, deed: Deed) -> Result<(), FaultError> {
    victim.slot.order(deed).map_err(|error| {
        let (life, why) = (victim.life.clone(), error.to_string());
        FaultError::Signal { life, why }
    })
}

fn late(victim: &Victim, state: &'static str) -> FaultError {
    FaultError::Late { life: victim.life.clone(), state, within: EFFECT }
}
