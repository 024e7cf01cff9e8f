//! The state of each connection, as far as a command must know it to be done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::command::Effect;
use super::edges::Edge;
use super::limits::{CONNECTIONS_MAX, EDGE_CONNECTIONS_MAX};
use super::rules::{Active, Way};
use tandem_facts::ids::FaultId;

/// The state of one connection.
#[derive(Debug)]
pub(super) struct ConnectionState {
    edge: Arc<Edge>,
    /// The API keys of the request and of the answer that have passed in part.
    pub passing: [(Way, Option<i16>); 2],
    /// The faults whose rules dropped bytes of this connection.
    pub lost_by: BTreeSet<FaultId>,
    /// Whether the connection must end, because a rule forbids what it is passing.
    pub doomed: bool,
}

/// All connections by number, in the order in which they were accepted.
#[derive(Debug, Default)]
pub(super) struct Connections {
    all: BTreeMap<u64, ConnectionState>,
    next: u64,
}

impl Connections {
    /// Adds a connection. Returns its number, or none if there are too many.
    pub(super) fn enter(&mut self, edge: &Arc<Edge>) -> Option<u64> {
        let here = self.all.values().filter(|other| Arc::ptr_eq(&other.edge, edge)).count();
        if self.all.len() >= CONNECTIONS_MAX || here >= EDGE_CONNECTIONS_MAX {
            return None;
        }
        self.next += 1;
        let passing = [(Way::ToBroker, None), (Way::ToClient, None)];
        let (edge, lost_by) = (Arc::clone(edge), BTreeSet::new());
        self.all.insert(self.next, ConnectionState { edge, passing, lost_by, doomed: false });
        Some(self.next)
    }

    /// Removes a connection.
    pub(super) fn leave(&mut self, number: u64) {
        self.all.remove(&number);
    }

    pub(super) fn of(&mut self, number: u64) -> Option<&mut ConnectionState> {
        self.all.get_mut(&number)
    }

    /// The number of the latest connection.
    pub(super) const fn latest(&self) -> u64 {
        self.next
    }

    /// The connections up to number `latest` that must progress or end before a rule is in force.
    pub(super) fn unsettled(&self, active: &Active, latest: u64) -> Vec<u64> {
        let open = |connection: &ConnectionState| match (&active.rule.effect, &active.rule.apis) {
            (Effect::Reset, None) => true,
            // Only bytes that arrive from now on are slowed.
            (Effect::Slow { .. }, _) | (_, None) => false,
            (Effect::Drop | Effect::Stall | Effect::Answer { .. } | Effect::Reset, Some(_)) => {
                connection.passing.iter().any(|(way, api)| {
                    active.covers(*way) && api.is_some_and(|api| active.names(api))
                })
            }
        };
        let here = |connection: &ConnectionState| active.concerns(&connection.edge.concerned());
        self.numbers(latest, |connection| here(connection) && open(connection))
    }

    /// The connections from which a fault dropped bytes.
    pub(super) fn lost_by(&self, fault: &FaultId) -> Vec<u64> {
        self.numbers(self.next, |connection| connection.lost_by.contains(fault))
    }

    /// Marks these connections: they must end.
    pub(super) fn doom(&mut self, numbers: &[u64]) {
        for number in numbers {
            if let Some(connection) = self.of(*number) {
                connection.doomed = true;
            }
        }
    }

    fn numbers(&self, latest: u64, which: impl Fn(&ConnectionState) -> bool) -> Vec<u64> {
        let found = self.all.range(..=latest).filter(|(_, connection)| which(connection));
        found.map(|(number, _)| *number).collect()
    }
}
