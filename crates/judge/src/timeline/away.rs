//! Brokers that are down, and the groups on them. A broker that a fault took is down until the
//! fault is healed; one that died by itself, until another one starts in its cluster.

use std::collections::{BTreeMap, BTreeSet};

use super::Obstacle;
use crate::roster::Roster;
use tandem_facts::ids::{ClusterName, FaultId, GroupName};
use tandem_facts::observation::{Fact, What};

/// While a broker is down, the claims of its groups' members mean little: they last on for a while.
#[derive(Debug, Clone)]
pub(super) struct Away {
    /// The groups on each cluster.
    on: BTreeMap<ClusterName, BTreeSet<GroupName>>,
    taken: BTreeMap<FaultId, BTreeSet<GroupName>>,
    dead: BTreeSet<ClusterName>,
}

impl Away {
    pub(super) fn new(roster: &Roster) -> Self {
        let on = roster.clusters.clone();
        Self { on, taken: BTreeMap::new(), dead: BTreeSet::new() }
    }

    /// Takes a fact about no life; returns the groups whose broker is back.
    pub(super) fn observe(&mut self, fact: &Fact) -> BTreeSet<GroupName> {
        if let What::FaultAsked { fault, broker: Some(_), cluster, .. } = &fact.what {
            let on = cluster.as_ref().and_then(|cluster| self.on.get(cluster));
            // If the broker's cluster is unknown, any group may be affected.
            let all = || self.on.values().flatten().cloned().collect();
            let groups = on.cloned().unwrap_or_else(all);
            self.taken.entry(fault.clone()).or_default().extend(groups);
        }
        if let What::ClusterDied { cluster } = &fact.what {
            self.dead.insert(cluster.clone());
        }
        if let What::FaultHealed { fault } = &fact.what {
            return self.taken.remove(fault).unwrap_or_default();
        }
        if let What::ClusterStarted { cluster, .. } = &fact.what
            && self.dead.remove(cluster)
        {
            return self.on.get(cluster).cloned().unwrap_or_default();
        }
        BTreeSet::new()
    }

    /// The missing broker of a group, if there is one.
    pub(super) fn missed_by(&self, group: &GroupName) -> Option<Obstacle> {
        let mut taken = self.taken.iter();
        let by_fault = taken.find(|(_, groups)| groups.contains(group));
        let is_on =
            |cluster: &&ClusterName| self.on.get(*cluster).is_some_and(|on| on.contains(group));
        let dead = || self.dead.iter().find(is_on).cloned().map(Obstacle::Dead);
        by_fault.map(|(fault, _)| Obstacle::Broker(fault.clone())).or_else(dead)
    }
}
