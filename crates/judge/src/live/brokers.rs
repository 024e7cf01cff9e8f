//! The brokers of a run: those that the run started, those that are lost, and the groups on each.

use std::collections::{BTreeMap, BTreeSet};

use super::faults::FaultWindow;
use crate::roster::Roster;
use tandem_facts::ids::{ClusterName, GroupName};
use tandem_facts::observation::{Fact, RunEvent, What};
use tandem_facts::time::Mono;

/// The brokers of a run.
#[derive(Debug, Clone)]
pub struct Brokers {
    /// The groups on the brokers of each cluster.
    on: BTreeMap<ClusterName, BTreeSet<GroupName>>,
    own: BTreeMap<ClusterName, OwnBroker>,
    lost: BTreeMap<(ClusterName, String), Mono>,
}

/// The state of the broker of an embedded cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnBroker {
    /// The address that it listens on.
    pub address: String,
    /// Its process id, while it runs.
    pub pid: Option<u32>,
    /// Since when it runs, or does not.
    pub since: Mono,
    /// How often it died by itself.
    pub deaths: u64,
}

impl OwnBroker {
    /// A broker without facts yet.
    const ABSENT: Self = Self { address: String::new(), pid: None, since: Mono::ZERO, deaths: 0 };
}

impl Brokers {
    pub(super) fn new(roster: &Roster) -> Self {
        Self { on: roster.clusters.clone(), own: BTreeMap::new(), lost: BTreeMap::new() }
    }

    /// Takes a fact of the controller. Returns the groups whose dead broker is back.
    pub(super) fn observe(&mut self, fact: &Fact) -> BTreeSet<GroupName> {
        if let What::Run(RunEvent::ClusterStarted { cluster, address, pid }) = &fact.what {
            let own = self.own.entry(cluster.clone()).or_insert(OwnBroker::ABSENT);
            let back = own.deaths > 0 && own.pid.is_none();
            (own.address, own.pid, own.since) = (address.clone(), Some(*pid), fact.t);
            return if back { self.on(Some(cluster)) } else { BTreeSet::new() };
        }
        if let What::Run(RunEvent::ClusterDied { cluster }) = &fact.what {
            let own = self.own.entry(cluster.clone()).or_insert(OwnBroker::ABSENT);
            (own.pid, own.since, own.deaths) = (None, fact.t, own.deaths.saturating_add(1));
        } else if let What::Run(RunEvent::BrokerLost { cluster, broker }) = &fact.what {
            self.lost.insert((cluster.clone(), broker.clone()), fact.t);
        } else if let What::Run(RunEvent::BrokerBack { cluster, broker }) = &fact.what {
            self.lost.remove(&(cluster.clone(), broker.clone()));
        }
        BTreeSet::new()
    }

    /// The brokers of embedded clusters.
    pub fn own(&self) -> impl Iterator<Item = (&ClusterName, &OwnBroker)> {
        self.own.iter()
    }

    /// The lost brokers, and since when.
    pub fn lost(&self) -> impl Iterator<Item = (&(ClusterName, String), Mono)> {
        self.lost.iter().map(|(broker, since)| (broker, *since))
    }

    /// The groups on a cluster, or all groups if the cluster is unknown.
    fn on(&self, cluster: Option<&ClusterName>) -> BTreeSet<GroupName> {
        let all = || self.on.values().flatten().cloned().collect();
        cluster.and_then(|cluster| self.on.get(cluster)).cloned().unwrap_or_else(all)
    }

    /// The groups whose brokers a fault affects.
    pub(super) fn taken_by(&self, window: &FaultWindow) -> BTreeSet<GroupName> {
        window.clusters().flat_map(|cluster| self.on(cluster)).collect()
    }

    /// A cluster of the group whose broker died by itself, if there is one.
    pub(super) fn dead_of(&self, group: &GroupName) -> Option<&ClusterName> {
        let dead = self.own.iter().filter(|(_, own)| own.pid.is_none());
        let mut dead = dead.map(|(cluster, _)| cluster);
        dead.find(|cluster| self.on.get(*cluster).is_some_and(|on| on.contains(group)))
    }
}
