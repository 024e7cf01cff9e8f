//! From the fields of a storm, or of churn, to what is drawn again and again.

use super::fault::{end, lasts};
use crate::chaos::spec::StepSpec;
use crate::chaos::{Departure, Far, Fault, Kind, Network, Storm};
use crate::edge::{Direction, Effect};
use crate::time::Span;
use crate::yaml::{Cursor, Problem, choices};

/// Who wants more repeats the trial.
const ROUNDS_MOST: u32 = 1_000;
const WEIGHT_MOST: u32 = 1_000;

/// Members go, and come back.
pub(super) fn churn(spec: &StepSpec, place: Cursor<'_>) -> Result<Storm, Problem> {
    let graceful = spec.graceful.unwrap_or(true);
    if graceful && spec.overlap_restart {
        let message = "who has left is waited for by nobody";
        return Err(Problem::at(place.key("overlap_restart").name(), message)
            .hint("it belongs to `graceful: false`"));
    }
    let by = if graceful { Departure::Leave } else { Departure::Stop };
    timed(spec, place, vec![(end(spec, by), 1)])
}

/// Whatever is named strikes.
pub(super) fn storm(spec: &StepSpec, place: Cursor<'_>) -> Result<Storm, Problem> {
    let weights = spec.faults.iter().flat_map(|weights| &weights.0);
    let (mut faults, mut held) = (Vec::new(), false);
    for (&kind, &weight) in weights {
        let origin = place.key("faults").key(kind.as_str()).origin();
        if !(1..=WEIGHT_MOST).contains(&weight) {
            let message = format!("a weight is a number from 1 to {WEIGHT_MOST}, not {weight}");
            return Err(Problem::at(origin, message));
        }
        held |= matches!(kind, Kind::Pause | Kind::Partition);
        faults.push((strike(kind, spec, place)?, weight));
    }
    if faults.is_empty() {
        let message = "a storm must say what strikes: `faults`";
        return Err(Problem::at(place.key("fault").origin(), message)
            .hint("as in faults: {kill: 3, leave: 1}"));
    }
    if spec.hold.is_some() && !held {
        let message = "nothing of this storm is held";
        return Err(
            Problem::at(place.key("hold").name(), message).hint("a `pause` is, and a `partition`")
        );
    }
    timed(spec, place, faults)
}

/// One strike of a storm.
fn strike(kind: Kind, spec: &StepSpec, place: Cursor<'_>) -> Result<Fault, Problem> {
    let hold = || match spec.hold {
        Some(hold) if !hold.get().is_zero() => Ok(hold),
        Some(_) | None => {
            let message = format!("a {} must say how long it is held: `hold`", kind.noun());
            Err(Problem::at(place.key("faults").key(kind.as_str()).origin(), message)
                .hint("as in hold: 2s, beside `faults`"))
        }
    };
    match kind {
        Kind::Kill => Ok(end(spec, Departure::Kill)),
        Kind::Leave => Ok(end(spec, Departure::Leave)),
        Kind::Stop => Ok(end(spec, Departure::Stop)),
        Kind::Pause => Ok(Fault::Pause { lasts: hold()? }),
        Kind::Partition => Ok(Fault::Network(Network {
            kind,
            lasts: hold()?,
            from: Far::Cluster(None),
            direction: Direction::Both,
            apis: None,
            effect: Effect::Drop,
        })),
        Kind::Host
        | Kind::Slow
        | Kind::Protocol
        | Kind::Broker
        | Kind::Clock
        | Kind::Churn
        | Kind::Duplicate
        | Kind::Rollout
        | Kind::Storm
        | Kind::Noop => {
            let message = format!("a storm does not strike with `{}`", kind.as_str());
            let hint = choices(kind.as_str(), Kind::STORMY.map(Kind::as_str));
            Err(Problem::at(place.key("faults").key(kind.as_str()).name(), message).hint(hint))
        }
    }
}

fn timed(spec: &StepSpec, place: Cursor<'_>, faults: Vec<(Fault, u32)>) -> Result<Storm, Problem> {
    let (kind, lasts) = (spec.fault, lasts(spec, place)?);
    let some = |every: &Span| !every.get().is_zero();
    let Some(every) = spec.every.filter(some) else {
        let message = format!("a {} must say how often: `every`", kind.noun());
        return Err(Problem::at(place.key("fault").origin(), message).hint("as in every: 3s"));
    };
    let storm = Storm { kind, lasts, every, faults };
    let origin = place.key("every").origin();
    match storm.rounds() {
        0 => {
            let message = format!("within {lasts} nothing happens each {every}");
            Err(Problem::at(origin, message))
        }
        rounds if rounds > ROUNDS_MOST => {
            let message = format!("that is {rounds} strikes; one step has {ROUNDS_MOST} at most");
            Err(Problem::at(origin, message).hint("repeat the trial"))
        }
        _ => Ok(storm),
    }
}
