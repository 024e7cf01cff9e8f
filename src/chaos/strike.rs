//! One strike: waits until it is due, chooses its victims, injects, holds, heals.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::sync::watch;
use tracing::{Instrument, info_span};

use super::aim::aim;
use super::arena::{Arena, FaultError, Victim};
use super::injected::Injected;
use super::{Strike, Target};
use crate::controller::Broker;
use crate::ids::{FaultId, GroupName, StepId, TrialNumber};
use crate::observation::RunEvent;
use crate::telemetry::names;
use crate::time::{Mono, Span};

/// The progress of each strike, for the strikes that wait for it.
pub(super) type InForce = BTreeMap<StepId, watch::Sender<Progress>>;

/// The progress of a strike.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Progress {
    /// Since when it is in force.
    in_force: Option<Mono>,
    /// Whether it is over, and succeeded. Strikes that wait for a failed one fail as well.
    over: Option<bool>,
}

/// Runs one strike. A failed injection is recorded, and makes the verdict unknown.
///
/// # Errors
/// A heal failed.
pub(super) async fn strike(
    arena: &Arena<'_>,
    strike: &Strike,
    trial: TrialNumber,
    began: Mono,
    in_force: &InForce,
    within: Duration,
) -> Result<(), FaultError> {
    let fault = FaultId { trial, step: strike.step.id.clone() };
    let good = Cell::new(true);
    let failed = |why: String| {
        good.set(false);
        arena.record.note(None, strike.step.fault.kind().failed(&fault, why));
    };
    let own = in_force.get(&strike.step.id);
    let update = |change: &dyn Fn(&mut Progress)| {
        if let Some(sender) = own {
            sender.send_modify(change);
        }
    };
    let struck = |at: Mono| update(&|progress| progress.in_force = Some(at));
    let ready = tokio::select! {
        biased;
        () = arena.stop.cancelled() => return Ok(()),
        ready = due(arena, strike, began, in_force, within) => ready,
    };
    if let Err(why) = ready {
        failed(why);
        update(&|progress| progress.over = Some(false));
        return Ok(());
    }
    let aim = match aim(arena, strike).await {
        Ok(found) => found,
        Err(why) => {
            failed(why);
            // The steps that wait for this one go on; the verdict is unknown already.
            struck(Mono::now());
            update(&|progress| progress.over = Some(false));
            return Ok(());
        }
    };
    let on = |broker: &Broker| arena.plan.on(&broker.cluster);
    let groups: BTreeSet<GroupName> = aim.brokers.iter().flat_map(on).collect();
    if let Err(exceeded) = arena.allows(&groups) {
        failed(exceeded.clone());
        arena.abort(exceeded);
        return Ok(());
    }
    let restart = prepare_restart(arena, strike, &aim.victims);
    let count = aim.victims.len();
    let injected = Injected::plan(arena, strike.step.fault.clone(), fault.clone(), aim, restart);
    let from = Mono::now();
    let span = info_span!(target: names::LIVE, names::INJECT, neli.fault.id = %fault);
    let outcome = injected.inject().instrument(span).await;
    struck(*outcome.as_ref().unwrap_or(&from));
    match outcome {
        Ok(at) => {
            if let Some(why) = strike_across(arena, strike, &fault, count, at.since(from)) {
                failed(why);
            }
            if let Err(slipped) = hold(arena, strike, &injected).await {
                failed(slipped.to_string());
            }
        }
        Err(error) => failed(error.to_string()),
    }
    let span = info_span!(target: names::LIVE, names::HEAL, neli.fault.id = %fault);
    let healed = injected.heal().instrument(span).await;
    injected.release();
    if let Err(error) = &healed {
        failed(format!("not healed: {error}"));
    }
    update(&|progress| progress.over = Some(good.get()));
    healed
}

/// Waits until the strike is due.
///
/// # Errors
/// Everything did not settle `within` the time.
async fn due(
    arena: &Arena<'_>,
    strike: &Strike,
    began: Mono,
    in_force: &InForce,
    within: Duration,
) -> Result<(), String> {
    let from = match strike.after.as_ref().and_then(|step| in_force.get(step)) {
        None => began,
        Some(step) => {
            let mut step = step.subscribe();
            // The sender outlives this wait. If the other step never strikes, the wait ends with
            // the run.
            let from = step.wait_for(|step| step.in_force.is_some()).await;
            from.ok().and_then(|step| step.in_force).unwrap_or(began)
        }
    };
    if let Some((before, step)) =
        strike.once_settled.as_ref().and_then(|it| in_force.get_key_value(it))
    {
        let mut step = step.subscribe();
        let over = step.wait_for(|step| step.over.is_some()).await;
        if over.ok().and_then(|step| step.over) != Some(true) {
            return Err(format!("{before}, which goes before it, failed"));
        }
        arena.gate.settled(within).await.map_err(|unsettled| unsettled.to_string())?;
    }
    tokio::time::sleep((from + strike.delay).since(Mono::now())).await;
    Ok(())
}

/// Sets when the victims are restarted, as the step says. Returns the longest wait.
fn prepare_restart(arena: &Arena<'_>, strike: &Strike, victims: &[Victim]) -> Duration {
    let Some(restart) = strike.step.fault.restart() else { return Duration::ZERO };
    let mut longest = Duration::ZERO;
    for victim in victims {
        let group = arena.plan.group_of(&victim.life.member);
        let planned = group.and_then(|group| arena.plan.groups.get(group));
        let usual = planned.map_or(Duration::ZERO, |group| group.restart_after.get());
        if let Some(after) = restart.after {
            victim.slot.restart_once_after(after.get());
        }
        longest = longest.max(restart.after.map_or(usual, Span::get));
    }
    longest
}

/// Records how close together the victims were hit. Returns why that was not close enough, if so.
fn strike_across(
    arena: &Arena<'_>,
    strike: &Strike,
    fault: &FaultId,
    victims: usize,
    skew: Duration,
) -> Option<String> {
    let across = match strike.step.target.as_ref()? {
        Target::LeadersAcross { across, .. } | Target::GroupsAcross { across, .. } => across,
        Target::Member(_)
        | Target::Host(_)
        | Target::Machine(_)
        | Target::Cluster(_)
        | Target::LeaderOf { .. }
        | Target::Group { .. }
        | Target::Coordinator { .. }
        | Target::Leading { .. }
        | Target::Brokers { .. } => return None,
    };
    let victims = u32::try_from(victims).unwrap_or(u32::MAX);
    let skew_ns = u64::try_from(skew.as_nanos()).unwrap_or(u64::MAX);
    arena.record.note(None, RunEvent::Struck { fault: fault.clone(), victims, skew_ns });
    let within = across.within;
    (skew > within.get())
        .then(|| format!("its victims were hit {skew:?} apart, more than {within}"))
}

/// Holds the fault for its duration, or until the run stops. A kill has no duration.
async fn hold(
    arena: &Arena<'_>,
    strike: &Strike,
    injected: &Injected<'_>,
) -> Result<(), FaultError> {
    let Some(lasts) = strike.step.fault.lasts() else { return Ok(()) };
    tokio::select! {
        biased;
        () = arena.stop.cancelled() => Ok(()),
        slipped = injected.slips() => Err(slipped),
        () = tokio::time::sleep(lasts) => Ok(()),
    }
}
