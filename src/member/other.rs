//! The configuration of a member whose group does not elect on Kafka.

use std::path::Path;

use super::among::{AmongConfig, Nats};
use super::etcd::EtcdConfig;
use super::zookeeper::ZooKeeperConfig;
use crate::ids::{GroupName, Life};
use crate::topology::{Address, Plan};

/// The arguments of `tandem` that start a member in this life, with these options.
pub(super) fn member_arguments<const N: usize>(
    life: &Life,
    options: [(&str, String); N],
) -> Vec<String> {
    let begin = ["member".to_owned(), life.to_string()];
    begin.into_iter().chain(options.map(|(name, value)| format!("--{name}={value}"))).collect()
}

/// The configuration of one life of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherConfig {
    /// It elects over etcd.
    Etcd(EtcdConfig),
    /// It elects among the members.
    Among(AmongConfig),
    /// It elects over ZooKeeper.
    ZooKeeper(ZooKeeperConfig),
}

impl OtherConfig {
    /// That of a life in this group; none if the group elects on Kafka. `elections` is the folder
    /// of the run for sockets and votes.
    #[must_use]
    pub fn of(life: &Life, plan: &Plan, name: &GroupName, elections: &Path) -> Option<Self> {
        let group = plan.groups.get(name)?;
        let (width, session) = (group.partitions, group.pace.session.get());
        let heartbeat = group.pace.heartbeat.get();
        let cluster = plan.clusters.get(&group.cluster)?;
        let properties = cluster.members.properties.clone();
        match &cluster.address {
            Address::Embedded | Address::Bootstrap(_) => None,
            Address::Etcd(etcd) => Some(Self::Etcd(EtcdConfig {
                life: life.clone(),
                etcd: etcd.clone(),
                prefix: plan.store_prefix(name),
                width,
                lease: session,
                keep_alive: heartbeat,
                properties,
            })),
            Address::ZooKeeper(ensemble) => Some(Self::ZooKeeper(ZooKeeperConfig {
                life: life.clone(),
                zookeeper: ensemble.zookeeper.clone(),
                nodes: plan.store_prefix(name),
                width,
                session,
                heartbeat,
                threshold: group.pace.threshold.get(),
                properties,
            })),
            Address::Members(electorate) => Some(Self::Among(AmongConfig {
                life: life.clone(),
                election: electorate.election,
                members: group.members.clone(),
                folder: elections.join(name.as_str()),
                nats: None,
                width,
                session,
                heartbeat,
            })),
            Address::Nats(servers) => Some(Self::Among(AmongConfig {
                life: life.clone(),
                election: plan.among_of(group)?,
                members: group.members.clone(),
                folder: elections.join(name.as_str()),
                nats: Some(Nats {
                    servers: servers.clone(),
                    subject: plan.subject(name),
                    properties,
                }),
                width,
                session,
                heartbeat,
            })),
        }
    }

    /// The arguments of `tandem` that start the member in this life.
    #[must_use]
    pub fn arguments(self, life: Life) -> Vec<String> {
        match self {
            Self::Etcd(etcd) => EtcdConfig { life, ..etcd }.arguments(),
            Self::ZooKeeper(config) => ZooKeeperConfig { life, ..config }.arguments(),
            Self::Among(config) => AmongConfig { life, ..config }.arguments(),
        }
    }
}
