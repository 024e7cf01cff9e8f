//! From the fields of a step to its fault: each fault knows its own, and no others.

use super::storm;
use super::target::far;
use crate::chaos::fault::BROKER_RESTART;
use crate::chaos::network_words::{Behavior, Way};
use crate::chaos::spec::StepSpec;
use crate::chaos::{Departure, Far, Fault, How, Kind, Network};
use crate::edge::{Direction, Effect};
use crate::time::{Skew, Span};
use crate::yaml::{Cursor, Problem};

/// What is done.
pub(super) fn fault(spec: &StepSpec, place: Cursor<'_>) -> Result<Fault, Problem> {
    foreign(spec.fault, place)?;
    match spec.fault {
        Kind::Kill => Ok(end(spec, Departure::Kill)),
        Kind::Leave => Ok(end(spec, Departure::Leave)),
        Kind::Stop => Ok(end(spec, Departure::Stop)),
        Kind::Host => Ok(end(spec, Departure::Host)),
        Kind::Pause => Ok(Fault::Pause { lasts: lasts(spec, place)? }),
        Kind::Partition | Kind::Slow | Kind::Protocol => network(spec, place).map(Fault::Network),
        Kind::Broker => broker(spec, place),
        Kind::Clock => Ok(Fault::Clock { skew: skew(spec, place)?, lasts: lasts(spec, place)? }),
        Kind::Churn => storm::churn(spec, place).map(Fault::Storm),
        Kind::Duplicate => Ok(Fault::Duplicate { lasts: lasts(spec, place)? }),
        Kind::Rollout => Ok(Fault::Rollout { restart_after: spec.restart_after }),
        Kind::Storm => storm::storm(spec, place).map(Fault::Storm),
        Kind::Noop => Ok(Fault::Noop { lasts: lasts(spec, place)? }),
    }
}

/// A process ends, and is started again.
pub(super) fn end(spec: &StepSpec, by: Departure) -> Fault {
    let (restart_after, overlap_restart) = (spec.restart_after, spec.overlap_restart);
    Fault::End { by, restart_after, overlap_restart }
}

/// A field that only other faults have.
fn foreign(kind: Kind, place: Cursor<'_>) -> Result<(), Problem> {
    let all = Kind::ALL.into_iter().flat_map(Kind::fields);
    let mut others = all.filter(|field| !kind.fields().contains(field));
    let Some(field) = others.find(|field| place.key(field).exists()) else { return Ok(()) };
    let noun = kind.noun();
    let hint = match (kind, *field) {
        (Kind::Kill | Kind::Leave | Kind::Stop | Kind::Host, "for") => {
            "it ends with the restart: see `restart_after`".to_owned()
        }
        (Kind::Rollout, "for" | "every") => {
            "it goes on once all is settled, until everybody had a turn".to_owned()
        }
        (Kind::Leave | Kind::Rollout, "overlap_restart") => {
            "who has left is waited for by nobody".to_owned()
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

pub(super) fn lasts(spec: &StepSpec, place: Cursor<'_>) -> Result<Span, Problem> {
    spec.lasts.filter(|lasts| !lasts.get().is_zero()).ok_or_else(|| {
        let message = format!("a {} must say `for` how long", spec.fault.noun());
        Problem::at(place.key("fault").origin(), message).hint("as in for: 3s")
    })
}

/// What ends comes back by its restart, and what is paused after its time.
fn broker(spec: &StepSpec, place: Cursor<'_>) -> Result<Fault, Problem> {
    let how = spec.how.unwrap_or_default();
    let other = |key: &str, message: &str, hint: &str| {
        Err(Problem::at(place.key(key).name(), message).hint(hint))
    };
    let away = match how {
        How::Kill | How::Stop if spec.lasts.is_some() => {
            return other(
                "for",
                "a broker that ends has no `for`",
                "it comes back with its restart: see `restart_after`",
            );
        }
        How::Kill | How::Stop => spec.restart_after.unwrap_or(BROKER_RESTART),
        How::Pause if spec.restart_after.is_some() => {
            return other("restart_after", "a broker that is paused does not end", "say `for`");
        }
        How::Pause => lasts(spec, place)?,
    };
    Ok(Fault::Broker { how, away })
}

/// By how much a clock is wrong.
fn skew(spec: &StepSpec, place: Cursor<'_>) -> Result<Skew, Problem> {
    let ns = |span: Span| i64::try_from(span.get().as_nanos()).unwrap_or(i64::MAX);
    let ahead_ns = match (spec.ahead, spec.behind) {
        (Some(_), Some(_)) => {
            let message = "a clock is `ahead` or `behind`, not both";
            return Err(Problem::at(place.key("behind").name(), message));
        }
        (Some(ahead), None) => ns(ahead),
        (None, Some(behind)) => -ns(behind),
        (None, None) => 0,
    };
    let drift_ppm = spec.drift.map_or(0, |ppm| ppm.0);
    if ahead_ns == 0 && drift_ppm == 0 {
        let message = "a clock fault must say how wrong the clock is";
        return Err(Problem::at(place.key("fault").origin(), message)
            .hint("as in ahead: 2s, behind: 2s, or drift: 500ppm"));
    }
    let step = spec.step_every.map(|step| u64::try_from(step.get().as_nanos()).unwrap_or(u64::MAX));
    if step == Some(0) {
        let message = "a clock cannot step without end";
        return Err(Problem::at(place.key("step_every").origin(), message).hint("as in 500ms"));
    }
    Ok(Skew { ahead_ns, drift_ppm, step_ns: step.unwrap_or(0) })
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
        Kind::Partition
        | Kind::Kill
        | Kind::Leave
        | Kind::Stop
        | Kind::Host
        | Kind::Pause
        | Kind::Broker
        | Kind::Clock
        | Kind::Churn
        | Kind::Duplicate
        | Kind::Rollout
        | Kind::Storm
        | Kind::Noop => cut(spec.behavior.unwrap_or_default(), apis.is_some(), place)?,
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
