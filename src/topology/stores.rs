//! Clusters that are stores and no brokers: what else is written beside their addresses.

mod tls;

use super::election::OVER_NATS;
use super::{Cluster, Election, Ensemble};
use crate::yaml::{Cursor, Problem};

/// Keys of external brokers and of stores, and keys that no cluster has at this level.
pub(super) const OTHERS: [&str; 12] = [
    "etcd",
    "zookeeper",
    "nats",
    "tick",
    "sync_limit",
    "bootstrap",
    "failover",
    "start_up",
    "properties",
    "secrets",
    "controller",
    "host",
];

/// Whether it is `host:port`.
pub(super) fn is_address(text: &str) -> bool {
    let (host, port) = text.rsplit_once(':').unwrap_or_default();
    !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// The election that needs this cluster; none if it is of Kafka.
pub(super) const fn election(cluster: &Cluster) -> Option<Election> {
    match cluster {
        Cluster::Embedded(_) | Cluster::Brokers(_) => None,
        Cluster::Etcd(_) => Some(Election::Etcd),
        Cluster::ZooKeeper(_) => Some(Election::ZooKeeper),
        Cluster::Nats(_) => Some(Election::Among(OVER_NATS)),
    }
}

/// What it is.
pub(super) const fn title(cluster: &Cluster) -> &'static str {
    match cluster {
        Cluster::Embedded(_) | Cluster::Brokers(_) => "Kafka",
        Cluster::Etcd(_) => "etcd",
        Cluster::ZooKeeper(_) => "ZooKeeper",
        Cluster::Nats(_) => "NATS",
    }
}

/// The problem of a cluster that is no store of brokers.
pub(super) fn problem(cluster: &Cluster, place: Cursor<'_>) -> Option<Problem> {
    match cluster {
        Cluster::Embedded(_) | Cluster::Brokers(_) => None,
        Cluster::Etcd(store) => etcd_problem(&store.etcd, place)
            .or_else(|| tls::problem(cluster, &store.properties, place)),
        Cluster::ZooKeeper(servers) => zookeeper_problem(&servers.ensemble(), place)
            .or_else(|| tls::problem(cluster, &servers.properties, place)),
        Cluster::Nats(servers) => nats_problem(&servers.nats, place)
            .or_else(|| tls::problem(cluster, &servers.properties, place)),
    }
}

/// The problem of an address of NATS, or of a key next to it.
fn nats_problem(address: &str, place: Cursor<'_>) -> Option<Problem> {
    let own = ["nats", "properties"];
    if let Some(key) = OTHERS.into_iter().find(|key| !own.contains(key) && place.key(key).exists())
    {
        let message = format!("a cluster of NATS has no `{key}`");
        let hint = "it is {nats: \"127.0.0.1:4222\"}, and `properties` for TLS";
        return Some(Problem::at(place.key(key).name(), message).hint(hint).unshown());
    }
    let bad = address.split(',').find(|part| !is_address(part))?;
    let message = format!("{bad:?} is not an address of NATS");
    let problem = Problem::at(place.key("nats").origin(), message);
    Some(problem.hint("write host:port; several with commas, without blanks"))
}

/// The problem of an address of etcd, or of a key next to it.
fn etcd_problem(address: &str, place: Cursor<'_>) -> Option<Problem> {
    let own = ["etcd", "properties"];
    if let Some(key) = OTHERS.into_iter().find(|key| !own.contains(key) && place.key(key).exists())
    {
        let message = format!("a cluster of etcd has no `{key}`");
        let hint = "it is {etcd: \"http://127.0.0.1:2379\"}, and `properties` for TLS";
        // The line may hold secrets.
        return Some(Problem::at(place.key(key).name(), message).hint(hint).unshown());
    }
    let scheme = if address.starts_with("https://") { "https://" } else { "http://" };
    let fits = |part: &&str| part.strip_prefix(scheme).is_some_and(is_address);
    let bad = address.split(',').find(|part| !fits(part))?;
    let message = format!("{bad:?} is not an address of etcd");
    let problem = Problem::at(place.key("etcd").origin(), message);
    Some(problem.hint("write all as in http://127.0.0.1:2379, or all with https://"))
}

/// The problem of the addresses of ZooKeeper, of its tick, or of a key next to them.
fn zookeeper_problem(ensemble: &Ensemble, place: Cursor<'_>) -> Option<Problem> {
    let own = ["zookeeper", "tick", "sync_limit", "properties"];
    if let Some(key) = OTHERS.into_iter().find(|key| !own.contains(key) && place.key(key).exists())
    {
        let message = format!("a cluster of ZooKeeper has no `{key}`");
        let hint = "it is {zookeeper: \"127.0.0.1:2181\", tick: 2s, sync_limit: 5}, and \
                    `properties` for TLS";
        return Some(Problem::at(place.key(key).name(), message).hint(hint).unshown());
    }
    if let Some(bad) = ensemble.zookeeper.split(',').find(|part| !is_address(part)) {
        let message = format!("{bad:?} is not an address of a ZooKeeper server");
        let problem = Problem::at(place.key("zookeeper").origin(), message);
        return Some(problem.hint("write host:port, separate several with commas, without blanks"));
    }
    if ensemble.sync_limit == 0 && ensemble.zookeeper.contains(',') {
        let message = "several servers have a `syncLimit`";
        let problem = Problem::at(place.key("sync_limit").origin(), message);
        return Some(problem.hint("write that of their zoo.cfg; 0 is one server without others"));
    }
    let message = "a tick is not 0";
    let problem = Problem::at(place.key("tick").origin(), message);
    ensemble.tick.get().is_zero().then(|| problem.hint("write the `tickTime` of their zoo.cfg"))
}
