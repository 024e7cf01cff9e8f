//! The clusters of a plan. Embedded clusters are started, a broker process each; the others are
//! only known by their addresses.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rustix::process::Signal;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::embedded::Embedded;
use super::revival::keep_alive;
use super::{Edges, EdgesError, ProcessError, Recorder};
use crate::guard::Guard;
use crate::ids::{ClusterName, MemberId};
use crate::kafka;
use crate::secured::towards_edges;
use crate::topology::{self, Access, Address, Plan};

/// How long a broker has to end after a signal.
const FAREWELL: Duration = Duration::from_secs(1);

/// All clusters of a plan, as clients see them.
pub struct Clusters {
    /// How members connect, and how the controller connects.
    clients: BTreeMap<ClusterName, (kafka::Cluster, kafka::Cluster)>,
    embedded: BTreeMap<ClusterName, Arc<Embedded>>,
    /// The edges between members and brokers, if the plan has them.
    edges: Option<Edges>,
    watches: JoinSet<()>,
    stop: CancellationToken,
}

/// An embedded cluster, or the edges, could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No port can be reserved.
    #[error("no port can be reserved for the broker of cluster {cluster}")]
    Port {
        /// The cluster.
        cluster: ClusterName,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The process cannot be started.
    #[error("the broker of cluster {cluster} cannot be started")]
    Start {
        /// The cluster.
        cluster: ClusterName,
        /// The reason.
        #[source]
        source: ProcessError,
    },
    /// The edges cannot be started or opened.
    #[error("members cannot reach brokers through edges")]
    Edges(#[from] EdgesError),
    /// The process did not report its address in time.
    #[error("the broker of cluster {cluster} did not report its address; see {}", log.display())]
    Silent {
        /// The cluster.
        cluster: ClusterName,
        /// Its log.
        log: PathBuf,
    },
}

impl Clusters {
    /// Starts the embedded clusters of `plan`.
    ///
    /// # Errors
    /// A broker does not start, or does not listen in time.
    pub async fn start(
        plan: &Plan,
        program: &Path,
        logs: &Path,
        guard: &Guard,
        record: &Arc<Recorder>,
    ) -> Result<Self, ClusterError> {
        let mut clusters = Self {
            clients: BTreeMap::new(),
            embedded: BTreeMap::new(),
            edges: None,
            watches: JoinSet::new(),
            stop: CancellationToken::new(),
        };
        for (name, planned) in &plan.clusters {
            let bootstrap = match &planned.address {
                Address::Bootstrap(address) | Address::Etcd(address) | Address::Nats(address) => {
                    address.clone()
                }
                Address::ZooKeeper(ensemble) => ensemble.zookeeper.clone(),
                // There is nothing to start, and nothing to connect to.
                Address::Members(_) => continue,
                Address::Embedded => {
                    let log = logs.join(format!("broker-{name}.log"));
                    clusters.embed(name, program, log, guard, record).await?
                }
            };
            let seen_by = |access: &Access| kafka::Cluster {
                bootstrap: bootstrap.clone(),
                access: access.clone(),
            };
            let both = (seen_by(&planned.members), seen_by(planned.controller()));
            clusters.clients.insert(name.clone(), both);
        }
        match plan.edges {
            topology::Edges::Direct => {}
            topology::Edges::Proxied => {
                let seen = |name: &_| clusters.of_members(name);
                let edges = Edges::start(plan, seen, program, logs, guard, record).await?;
                clusters.edges = Some(edges);
            }
        }
        Ok(clusters)
    }

    async fn embed(
        &mut self,
        name: &ClusterName,
        program: &Path,
        log: PathBuf,
        guard: &Guard,
        record: &Arc<Recorder>,
    ) -> Result<String, ClusterError> {
        let (program, record) = (program.to_owned(), Arc::clone(record));
        let embedded = Arc::new(Embedded::new(name.clone(), program, log, record)?);
        embedded.start(guard).await?;
        self.watches.spawn(Arc::clone(&embedded).watch(self.stop.clone()));
        let address = embedded.address();
        self.embedded.insert(name.clone(), embedded);
        Ok(address)
    }

    /// The broker of a cluster, if the cluster is embedded.
    pub(super) fn embedded(&self, cluster: &ClusterName) -> Option<&Arc<Embedded>> {
        self.embedded.get(cluster)
    }

    /// How members connect to a cluster without edges.
    #[must_use]
    pub fn of_members(&self, cluster: &ClusterName) -> kafka::Cluster {
        self.clients.get(cluster).map(|(members, _)| members.clone()).unwrap_or_default()
    }

    /// How a member connects to its cluster: through its edges, if there are any.
    #[must_use]
    pub fn of_member(&self, member: &MemberId, cluster: &ClusterName) -> kafka::Cluster {
        let mut cluster = self.of_members(cluster);
        if let Some(edge) = self.edges.as_ref().and_then(|edges| edges.bootstrap(member)) {
            cluster.bootstrap.clone_from(edge);
            cluster.access = towards_edges(&cluster.access);
        }
        cluster
    }

    /// The edges between members and brokers, if there are any.
    #[must_use]
    pub fn edges(&self) -> Option<&Edges> {
        self.edges.as_ref()
    }

    /// How the controller connects to a cluster.
    #[must_use]
    pub fn of_controller(&self, cluster: &ClusterName) -> kafka::Cluster {
        self.clients.get(cluster).map(|(_, controller)| controller.clone()).unwrap_or_default()
    }

    /// Returns when a process of the run dies unexpectedly, with a sentence that names it.
    pub async fn lost(&self) -> String {
        let lost = |broker: &Arc<Embedded>| {
            let broker = Arc::clone(broker);
            async move {
                broker.lost().await;
                format!("the broker of cluster {} died", broker.cluster)
            }
        };
        self.first(self.embedded.values().map(lost).collect()).await
    }

    /// Restarts each embedded broker that dies unexpectedly, at the same address. Returns when a
    /// broker cannot be kept alive, or when the process of the edges dies, with a sentence that
    /// says why.
    pub async fn keep(&self, plan: &Plan, guard: &Guard) -> String {
        let brokers = self.embedded.values();
        self.first(brokers.map(|broker| keep_alive(self, broker, plan, guard)).collect()).await
    }

    /// The first sentence from `brokers`, or one about the edges if they end first.
    async fn first<F>(&self, mut brokers: FuturesUnordered<F>) -> String
    where
        F: Future<Output = String>,
    {
        let edges = async {
            match &self.edges {
                Some(edges) => edges.lost().cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some(why) = brokers.next() => why,
            () = edges => "the process of the edges died".to_owned(),
        }
    }

    /// Ends the edges and the embedded brokers: asks them, waits, and kills those that remain.
    pub async fn stop(mut self) {
        self.stop.cancel();
        if let Some(edges) = self.edges.take() {
            edges.stop().await;
        }
        for signal in [Signal::TERM, Signal::KILL] {
            for broker in self.embedded.values() {
                broker.signal(signal);
            }
            let all = async { while self.watches.join_next().await.is_some() {} };
            if tokio::time::timeout(FAREWELL, all).await.is_ok() {
                return;
            }
        }
    }
}
