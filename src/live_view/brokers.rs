//! The brokers of embedded clusters: which of them run, and since when.

use std::collections::BTreeMap;

use super::Happening;
use super::picture::BrokerPicture;
use super::table::ms;
use crate::ids::ClusterName;
use crate::observation::{Fact, What};
use crate::time::Mono;

/// All of them, kept fact by fact.
#[derive(Debug, Clone, Default)]
pub(super) struct Brokers(BTreeMap<ClusterName, Post>);

/// One of them.
#[derive(Debug, Clone)]
struct Post {
    address: String,
    pid: Option<u32>,
    since: Mono,
    deaths: u64,
}

impl Brokers {
    /// Takes a fact; what is to be told of it, where it is about one of them.
    pub(super) fn take(&mut self, fact: &Fact) -> Option<Happening> {
        if let What::ClusterStarted { cluster, address, pid } = &fact.what {
            let deaths = self.0.get(cluster).map_or(0, |post| post.deaths);
            let post = Post { address: address.clone(), pid: Some(*pid), since: fact.t, deaths };
            self.0.insert(cluster.clone(), post);
            let (cluster, address, pid) = (cluster.clone(), address.clone(), *pid);
            return Some(Happening::ClusterStarted { cluster, address, pid });
        }
        let What::ClusterDied { cluster } = &fact.what else { return None };
        if let Some(post) = self.0.get_mut(cluster) {
            (post.pid, post.since) = (None, fact.t);
            post.deaths = post.deaths.saturating_add(1);
        }
        Some(Happening::ClusterDied { cluster: cluster.clone() })
    }

    /// How they stand.
    pub(super) fn picture(&self, now: Mono) -> BTreeMap<ClusterName, BrokerPicture> {
        let one = |(cluster, post): (&ClusterName, &Post)| {
            let Post { address, pid, since, deaths } = post.clone();
            (cluster.clone(), BrokerPicture { address, pid, for_ms: ms(now.since(since)), deaths })
        };
        self.0.iter().map(one).collect()
    }
}
