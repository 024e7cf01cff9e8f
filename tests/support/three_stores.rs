//! One etcd, one ZooKeeper and one NATS for a test, and a group that elects over each.

use crate::etcd::Etcd;
use crate::nats::Nats;
use crate::zookeeper::ZooKeeper;

/// The stores, which end with this value.
pub struct ThreeStores {
    etcd: Etcd,
    zookeeper: ZooKeeper,
    nats: Nats,
}

impl ThreeStores {
    /// The groups over them.
    pub const GROUPS: [&str; 3] = ["etcd", "zookeeper", "nats"];

    pub fn up() -> Self {
        Self { etcd: Etcd::up(), zookeeper: ZooKeeper::up(), nats: Nats::up() }
    }

    /// Their clusters in a topology, after one that is there already.
    pub fn clusters(&self) -> String {
        let Self { etcd, zookeeper, nats } = self;
        format!(
            ", e: {{etcd: \"{}\"}}, z: {{zookeeper: \"{}\", tick: 200ms, sync_limit: 0}}, n: \
             {{nats: \"{}\"}}",
            etcd.address, zookeeper.addresses, nats.address
        )
    }

    /// Their processes.
    pub fn pids(&self) -> [u32; 3] {
        [self.etcd.pid(1), self.zookeeper.pid(1), self.nats.pid()]
    }

    /// The groups and their settings.
    pub fn groups() -> Vec<(&'static str, String)> {
        let settings = [
            "cluster: e, election: etcd, lease: 2s",
            "cluster: z, election: zookeeper, session: 2s",
            "cluster: n, election: allcall",
        ];
        Self::GROUPS.into_iter().zip(settings.map(str::to_owned)).collect()
    }
}
