//! The state of the brokers of embedded clusters.

use std::collections::BTreeMap;

use super::Happening;
use super::picture::BrokerPicture;
use super::table::ms;
use crate::ids::ClusterName;
use crate::observation::{Fact, What};
use crate::time::Mono;

/// The state of all embedded brokers, updated fact by fact.
#[derive(Debug, Clone, Default)]
pub(super) struct Brokers(BTreeMap<ClusterName, BrokerState>);

/// The state of one broker.
#[derive(Debug, Clone)]
struct BrokerState {
    address: String,
    pid: Option<u32>,
    since: Mono,
    deaths: u64,
}

impl Brokers {
    /// Takes a fact. Returns the event that it makes, if it is about an embedded broker.
    pub(super) fn take(&mut self, fact: &Fact) -> Option<Happening> {
        if let What::ClusterStarted { cluster, address, pid } = &fact.what {
            let deaths = self.0.get(cluster).map_or(0, |state| state.deaths);
            let (address_now, pid_now) = (address.clone(), Some(*pid));
            let state = BrokerState { address: address_now, pid: pid_now, since: fact.t, deaths };
            self.0.insert(cluster.clone(), state);
            let (cluster, address, pid) = (cluster.clone(), address.clone(), *pid);
            return Some(Happening::ClusterStarted { cluster, address, pid });
        }
        let What::ClusterDied { cluster } = &fact.what else { return None };
        if let Some(state) = self.0.get_mut(cluster) {
            (state.pid, state.since) = (None, fact.t);
            state.deaths = state.deaths.saturating_add(1);
        }
        Some(Happening::ClusterDied { cluster: cluster.clone() })
    }

    /// The state of each broker at `now`.
    pub(super) fn picture(&self, now: Mono) -> BTreeMap<ClusterName, BrokerPicture> {
        let one = |(cluster, state): (&ClusterName, &BrokerState)| {
            let BrokerState { address, pid, since, deaths } = state.clone();
            (cluster.clone(), BrokerPicture { address, pid, for_ms: ms(now.since(since)), deaths })
        };
        self.0.iter().map(one).collect()
    }
}
