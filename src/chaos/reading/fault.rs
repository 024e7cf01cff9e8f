//! From the fields of a step to its fault: each fault knows its own, and no others.

use super::target::far;
use crate::chaos::network_words::{Behavior, Way};
use crate::chaos::spec::StepSpec;
use crate::chaos::{Far, Fault, Kind, Network};
use crate::edge::{Direction, Effect};
use crate::time::Span;
use crate::yaml::{Cursor, Problem};

/// Longer than it takes to replace a broker, and not so long that a disk fills.
const BROKER_RESTART: Span = Span::ms(5_000);

/// What is done.
pub(super) fn fault(spec: &StepSpec, place: Cursor<'_>) -> Result<Fault, Problem> {
    foreign(spec.fault, place)?;
    match spec.fault {
        Kind::Kill => Ok(Fault::Kill {
            restart_after: spec.restart_after,
            overlap_restart: spec.overlap_restart,
        }),
        Kind::Pause => Ok(Fault::Pause { lasts: lasts(spec, place)? }),
        Kind::Partition | Kind::Slow | Kind::Protocol => network(spec, place).map(Fault::Network),
        Kind::Broker => {
            Ok(Fault::Broker { restart_after: spec.restart_after.unwrap_or(BROKER_RESTART) })
        }
        Kind::Noop => Ok(Fault::Noop { lasts: lasts(spec, place)? }),
    }
}

/// A field that only other faults have.
fn foreign(kind: Kind, place: Cursor<'_>) -> Result<(), Problem> {
    let all = Kind::ALL.into_iter().flat_map(Kind::fields);
    let mut others = all.filter(|field| !kind.fields().contains(field));
    let Some(field) = others.find(|field| place.key(field).exists()) else { return Ok(()) };
    let noun = kind.noun();
    let hint = match (kind, *field) {
        (Kind::Kill | Kind::Broker, "for") => {
            "it ends with the restart: see `restart_after`".to_owned()
        }
        (Kind::Broker, "overlap_restart") => "no member dies of it".to_owned(),
        (_, "restart_after" | "overlap_restart") => "nobody dies of it".to_owned(),
        (Kind::Slow, "apis") => "`fault: protocol` with a `latency` makes requests late".to_owned(),
        (Kind::Partition, "latency" | "latency_jitter" | "rate") => {
            "what passes late passes: `fault: slow`".to_owned()
        }
        (_, field) => {
            let whose = Kind::ALL.into_iter().filter(|kind| kind.fields().contains(&field));
            let whose: Vec<_> = whose.map(|kind| format!("`{}`", kind.as_str())).collect();
            format!("that belongs to {}", whose.join(", "))
        }
    };
    Err(Problem::at(place.key(field).name(), format!("a {noun} has no `{field}`")).hint(hint))
}

fn lasts(spec: &StepSpec, place: Cursor<'_>) -> Result<Span, Problem> {
    spec.lasts.filter(|lasts| !lasts.get().is_zero()).ok_or_else(|| {
        let message = format!("a {} must say `for` how long", spec.fault.noun());
        Problem::at(place.key("fault").origin(), message).hint("as in for: 3s")
    })
}

fn network(spec: &StepSpec, place: Cursor<'_>) -> Result<Network, Problem> {
    let lasts = lasts(spec, place)?;
    let apis = spec.apis.as_ref().map(|apis| apis.0.clone());
    if apis.as_ref().is_some_and(std::collections::BTreeSet::is_empty) {
        return Err(Problem::at(place.key("apis").origin(), "no request is named")
            .hint("leave it out to cut every byte"));
    }
    let far = match &spec.from {
        Some(from) => far(from, place.key("from"))?,
        None => Far::Cluster(None),
    };
    let effect = match spec.fault {
        Kind::Slow => slow(spec, place)?,
        Kind::Protocol => protocol(spec, place)?,
        Kind::Partition | Kind::Kill | Kind::Pause | Kind::Broker | Kind::Noop => {
            cut(spec.behavior.unwrap_or_default(), apis.is_some(), place)?
        }
    };
    let direction = match spec.direction.unwrap_or_default() {
        Way::Both => Direction::Both,
        Way::ToBroker => Direction::ToBroker,
        Way::ToMember => Direction::ToClient,
    };
    Ok(Network { kind: spec.fault, lasts, from: far, direction, apis, effect })
}

fn cut(behavior: Behavior, only_some: bool, place: Cursor<'_>) -> Result<Effect, Problem> {
    match behavior {
        Behavior::Drop => Ok(Effect::Drop),
        Behavior::Stall => Ok(Effect::Stall),
        Behavior::Reset if only_some => {
            let message = "a reset takes the whole connection, not some of its requests";
            Err(Problem::at(place.key("behavior").origin(), message)
                .hint("`drop` or `stall`, or no `apis`"))
        }
        Behavior::Reset => Ok(Effect::Reset),
    }
}

fn slow(spec: &StepSpec, place: Cursor<'_>) -> Result<Effect, Problem> {
    if spec.latency_jitter.is_some() && spec.latency.is_none() {
        let message = "a `latency_jitter` is added to a `latency`";
        return Err(Problem::at(place.key("latency_jitter").name(), message)
            .hint("as in latency: 50ms, latency_jitter: 20ms"));
    }
    if spec.latency.is_none_or(|latency| latency.get().is_zero()) && spec.rate.is_none() {
        let message = format!("a {} must say how slow", spec.fault.noun());
        return Err(Problem::at(place.key("fault").origin(), message)
            .hint("as in latency: 50ms, or rate: 100kB/s"));
    }
    Ok(Effect::Slow {
        delay: spec.latency.unwrap_or_default(),
        jitter: spec.latency_jitter.unwrap_or_default(),
        bytes_per_second: spec.rate.map(|rate| rate.0),
    })
}

fn protocol(spec: &StepSpec, place: Cursor<'_>) -> Result<Effect, Problem> {
    if spec.apis.is_none() {
        let message = "a protocol fault must say which requests: `apis`";
        return Err(Problem::at(place.key("fault").origin(), message)
            .hint("as in apis: [heartbeat], or coordinator, or data"));
    }
    let late = spec.latency.is_some() || spec.latency_jitter.is_some();
    let said =
        [("behavior", spec.behavior.is_some()), ("latency", late), ("error", spec.error.is_some())];
    let mut said = said.into_iter().filter_map(|(key, given)| given.then_some(key));
    let (first, second) = (said.next(), said.next());
    if let (Some(first), Some(second)) = (first, second) {
        let message = format!("a protocol fault has no `{second}` beside `{first}`");
        return Err(Problem::at(place.key(second).name(), message).hint("one of the two"));
    }
    if let Some(error) = spec.error {
        if spec.direction.is_some() {
            let message = "an answer goes to the member: it has no `direction`";
            return Err(Problem::at(place.key("direction").name(), message));
        }
        return Ok(Effect::Answer { code: error.0 });
    }
    match (first, spec.behavior) {
        (_, Some(behavior)) => cut(behavior, true, place),
        (Some(_), None) => slow(spec, place),
        (None, None) => {
            let message = "a protocol fault must say what becomes of the requests";
            Err(Problem::at(place.key("fault").origin(), message)
                .hint("`behavior: drop` or `stall`, a `latency`, or an `error`"))
        }
    }
}
