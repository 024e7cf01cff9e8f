//! Where each connection stands, as far as an order must know to say that it is done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::book::Edge;
use super::limits::{CONNECTIONS_MAX, EDGE_CONNECTIONS_MAX};
use super::order::Effect;
use super::rules::{Active, Way};
use tandem_facts::ids::FaultId;

/// One connection.
#[derive(Debug)]
pub(super) struct Standing {
    edge: Arc<Edge>,
    /// The request of which a part has passed, and the answer.
    pub passing: [(Way, Option<i16>); 2],
    /// The faults that lost bytes of it.
    pub lost_by: BTreeSet<FaultId>,
    /// Whether it must end, since what it is about to pass may not.
    pub doomed: bool,
}

/// All of them, by number, in the order in which they were accepted.
#[derive(Debug, Default)]
pub(super) struct Standings {
    all: BTreeMap<u64, Standing>,
    next: u64,
}

impl Standings {
    /// A connection is there; its number, or none where there are too many.
    pub(super) fn enter(&mut self, edge: &Arc<Edge>) -> Option<u64> {
        let here = self.all.values().filter(|other| Arc::ptr_eq(&other.edge, edge)).count();
        if self.all.len() >= CONNECTIONS_MAX || here >= EDGE_CONNECTIONS_MAX {
            return None;
        }
        self.next += 1;
        let passing = [(Way::ToBroker, None), (Way::ToClient, None)];
        let (edge, lost_by) = (Arc::clone(edge), BTreeSet::new());
        self.all.insert(self.next, Standing { edge, passing, lost_by, doomed: false });
        Some(self.next)
    }

    /// It is there no more.
    pub(super) fn leave(&mut self, number: u64) {
        self.all.remove(&number);
    }

    pub(super) fn of(&mut self, number: u64) -> Option<&mut Standing> {
        self.all.get_mut(&number)
    }

    /// The number of the latest connection.
    pub(super) const fn latest(&self) -> u64 {
        self.next
    }

    /// The connections, of those up to this one, that must go on or end before a rule is in force.
    pub(super) fn unsettled(&self, active: &Active, latest: u64) -> Vec<u64> {
        let open = |standing: &Standing| match (&active.rule.effect, &active.rule.apis) {
            (Effect::Reset, None) => true,
            // What arrives from now on is slow; what was here is not.
            (Effect::Slow { .. }, _) | (_, None) => false,
            (Effect::Drop | Effect::Stall | Effect::Answer { .. } | Effect::Reset, Some(_)) => {
                standing.passing.iter().any(|(way, api)| {
                    active.covers(*way) && api.is_some_and(|api| active.names(api))
                })
            }
        };
        let here = |standing: &Standing| active.concerns(&standing.edge.concerned());
        self.numbers(latest, |standing| here(standing) && open(standing))
    }

    /// The connections that a fault took bytes from.
    pub(super) fn lost_by(&self, fault: &FaultId) -> Vec<u64> {
        self.numbers(self.next, |standing| standing.lost_by.contains(fault))
    }

    /// These must end.
    pub(super) fn doom(&mut self, numbers: &[u64]) {
        for number in numbers {
            if let Some(standing) = self.of(*number) {
                standing.doomed = true;
            }
        }
    }

    fn numbers(&self, latest: u64, which: impl Fn(&Standing) -> bool) -> Vec<u64> {
        let found = self.all.range(..=latest).filter(|(_, standing)| which(standing));
        found.map(|(number, _)| *number).collect()
    }
}
