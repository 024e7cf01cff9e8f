//! Which rules concern a connection, and what they do to its bytes. Pure.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::command::{Direction, Effect, Rule};
use tandem_facts::ids::{ClusterName, FaultId, MemberId};

/// One of the two directions of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// From the client to the broker.
    ToBroker,
    /// From the broker to the client.
    ToClient,
}

/// A rule in force.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Active {
    /// The fault, by which the rule is lifted.
    pub fault: FaultId,
    /// The rule as commanded.
    pub rule: Rule,
    /// The addresses to which the names of its brokers resolve, since a broker may have several
    /// names.
    pub addresses: BTreeSet<String>,
}

/// The properties by which rules select an edge.
#[derive(Debug)]
pub(super) struct Concerned<'a> {
    pub client: &'a MemberId,
    pub cluster: &'a ClusterName,
    /// The broker's address, by name.
    pub broker: &'a str,
    /// The addresses to which that name resolves, as far as known.
    pub addresses: &'a [String],
}

/// What happens to all bytes in a direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Gate {
    Open,
    Shut,
    /// These faults' rules drop the bytes.
    Lossy(BTreeSet<FaultId>),
    Reset,
}

/// What happens to a single request or answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Pass,
    Lose,
    Hold,
    Answer(i16),
    Reset,
}

/// The delay and rate of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Slowness {
    pub delay_ns: u64,
    pub jitter_ns: u64,
    pub bytes_per_second: Option<u64>,
}

impl Active {
    /// Whether the rule concerns an edge.
    pub(super) fn concerns(&self, edge: &Concerned<'_>) -> bool {
        let scope = &self.rule.scope;
        let here = scope.brokers.as_ref().is_none_or(|brokers| {
            brokers.contains(edge.broker)
                || edge.addresses.iter().any(|address| self.addresses.contains(address))
        });
        here && scope.cluster == *edge.cluster && self.rule.clients.contains(edge.client)
    }

    /// Whether the rule concerns a direction at all.
    pub(super) fn covers(&self, way: Way) -> bool {
        match self.rule.direction {
            Direction::Both => true,
            Direction::ToBroker => way == Way::ToBroker,
            Direction::ToClient => way == Way::ToClient,
        }
    }

    /// Whether the rule selects single requests, and this one among them.
    pub(super) fn names(&self, api: i16) -> bool {
        self.rule.apis.as_ref().is_some_and(|apis| apis.contains(&api))
    }
}

/// The rules of one connection at some moment.
pub(super) type Rules = Arc<[Active]>;

/// What happens to all bytes in a direction. Rules that drop bytes precede rules that hold them.
pub(super) fn gate(rules: &[Active], way: Way) -> Gate {
    let (mut shut, mut lossy) = (false, BTreeSet::new());
    for active in rules.iter().filter(|active| active.rule.apis.is_none()) {
        match &active.rule.effect {
            // A reset affects both directions.
            Effect::Reset => return Gate::Reset,
            Effect::Drop if active.covers(way) => drop(lossy.insert(active.fault.clone())),
            Effect::Stall if active.covers(way) => shut = true,
            Effect::Drop | Effect::Stall | Effect::Slow { .. } | Effect::Answer { .. } => {}
        }
    }
    match (lossy.is_empty(), shut) {
        (false, _) => Gate::Lossy(lossy),
        (true, true) => Gate::Shut,
        (true, false) => Gate::Open,
    }
}

/// What happens to a request, or to the answer to one; the gravest effect wins.
pub(super) fn fate(rules: &[Active], way: Way, api: i16) -> Fate {
    let mut fate = Fate::Pass;
    for active in rules.iter().filter(|active| active.covers(way) && active.names(api)) {
        fate = match (&active.rule.effect, fate) {
            (Effect::Reset, _) | (_, Fate::Reset) => Fate::Reset,
            (Effect::Drop, _) | (_, Fate::Lose) => Fate::Lose,
            (Effect::Answer { code }, Fate::Pass | Fate::Hold) if way == Way::ToBroker => {
                Fate::Answer(*code)
            }
            (Effect::Stall, Fate::Pass) => Fate::Hold,
            (Effect::Stall | Effect::Slow { .. } | Effect::Answer { .. }, other) => other,
        };
    }
    fate
}

/// The delay and rate of a request or answer: delays add up, the lowest rate applies. None if no
/// rule slows it.
pub(super) fn slowness(rules: &[Active], way: Way, api: i16) -> Option<Slowness> {
    let mut all: Option<Slowness> = None;
    for active in rules.iter().filter(|active| active.covers(way)) {
        let Effect::Slow { delay, jitter, bytes_per_second } = &active.rule.effect else {
            continue;
        };
        if active.rule.apis.is_some() && !active.names(api) {
            continue;
        }
        let sum = all.get_or_insert_default();
        sum.delay_ns = sum.delay_ns.saturating_add(nanos(*delay));
        sum.jitter_ns = sum.jitter_ns.saturating_add(nanos(*jitter));
        sum.bytes_per_second = match (sum.bytes_per_second, *bytes_per_second) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
    all
}

/// Whether a rule slows anything in a direction.
pub(super) fn is_slow(rules: &[Active], way: Way) -> bool {
    let slow = |active: &Active| matches!(active.rule.effect, Effect::Slow { .. });
    rules.iter().any(|active| active.covers(way) && slow(active))
}

fn nanos(span: tandem_facts::time::Span) -> u64 {
    u64::try_from(span.get().as_nanos()).unwrap_or(u64::MAX)
}
