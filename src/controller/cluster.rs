//! The clusters of a plan: embedded ones are started, a broker process each; the others are only
//! known by their addresses.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Edges, EdgesError, Process, ProcessError, Record};
use crate::guard::Guard;
use crate::ids::{ClusterName, MemberId};
use crate::kafka;
use crate::observation::What;
use crate::topology::{self, Access, Address, Plan};

/// How long a broker has to say where it listens.
const READY: Duration = Duration::from_secs(10);
/// How long a broker has to end.
const FAREWELL: Duration = Duration::from_secs(1);

/// All clusters of a plan, as clients see them.
pub struct Clusters {
    /// As members see it, and as the controller does.
    clients: BTreeMap<ClusterName, (kafka::Cluster, kafka::Cluster)>,
    brokers: Vec<Arc<Process>>,
    /// Between members and all of these, where the plan wants them.
    edges: Option<Edges>,
    watches: JoinSet<()>,
    stop: CancellationToken,
    lost: CancellationToken,
}

/// An embedded cluster that did not start.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No process.
    #[error("the broker of cluster {cluster} cannot be started")]
    Start {
        /// Which cluster.
        cluster: ClusterName,
        /// Why not.
        #[source]
        source: ProcessError,
    },
    /// No edges.
    #[error("members cannot reach brokers through edges")]
    Edges(#[from] EdgesError),
    /// A process that does not say where it listens.
    #[error("the broker of cluster {cluster} did not say where it listens; see its log")]
    Silent {
        /// Which cluster.
        cluster: ClusterName,
    },
}

/// The first line of `tandem broker`.
#[derive(Deserialize)]
struct Listening {
    listening: String,
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
        record: &Arc<Record>,
    ) -> Result<Self, ClusterError> {
        let mut clusters = Self {
            clients: BTreeMap::new(),
            brokers: Vec::new(),
            edges: None,
            watches: JoinSet::new(),
            stop: CancellationToken::new(),
            lost: CancellationToken::new(),
        };
        for (name, planned) in &plan.clusters {
            let bootstrap = match &planned.address {
                Address::Bootstrap(bootstrap) => bootstrap.clone(),
                Address::Embedded => {
                    let log = logs.join(format!("broker-{name}.log"));
                    clusters.embed(name, program, &log, guard, record).await?
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
                let bootstrap = |name: &_| clusters.of_controller(name).bootstrap;
                let edges = Edges::start(plan, bootstrap, program, logs, guard, record).await?;
                clusters.edges = Some(edges);
            }
        }
        Ok(clusters)
    }

    async fn embed(
        &mut self,
        name: &ClusterName,
        program: &Path,
        log: &Path,
        guard: &Guard,
        record: &Arc<Record>,
    ) -> Result<String, ClusterError> {
        let arguments = ["broker", "--listen", "127.0.0.1:0", "--until-eof"].map(str::to_owned);
        let (process, stdout) = Process::start(program, &arguments, log, guard)
            .map_err(|source| ClusterError::Start { cluster: name.clone(), source })?;
        let process = Arc::new(process);
        self.brokers.push(Arc::clone(&process));
        let mut lines = BufReader::new(stdout).lines();
        let first = tokio::time::timeout(READY, lines.next_line()).await;
        let line = first.ok().and_then(Result::ok).flatten().unwrap_or_default();
        let Ok(Listening { listening }) = serde_json::from_str(&line) else {
            return Err(ClusterError::Silent { cluster: name.clone() });
        };
        let (cluster, address, pid) = (name.clone(), listening.clone(), process.pid());
        record.note(None, What::ClusterStarted { cluster, address, pid });
        let (cluster, record) = (name.clone(), Arc::clone(record));
        let (stop, lost) = (self.stop.clone(), self.lost.clone());
        self.watches.spawn(async move {
            process.ended().await;
            if !stop.is_cancelled() {
                tracing::error!(%cluster, "The broker of a cluster died.");
                record.note(None, What::ClusterDied { cluster });
                lost.cancel();
            }
        });
        Ok(listening)
    }

    /// How members would reach a cluster without edges.
    #[must_use]
    pub fn of_members(&self, cluster: &ClusterName) -> kafka::Cluster {
        self.clients.get(cluster).map(|(members, _)| members.clone()).unwrap_or_default()
    }

    /// How a member reaches its cluster: through its edges, where there are any.
    #[must_use]
    pub fn of_member(&self, member: &MemberId, cluster: &ClusterName) -> kafka::Cluster {
        let mut cluster = self.of_members(cluster);
        if let Some(edge) = self.edges.as_ref().and_then(|edges| edges.bootstrap(member)) {
            cluster.bootstrap.clone_from(edge);
        }
        cluster
    }

    /// The edges between members and brokers, where there are any.
    #[must_use]
    pub fn edges(&self) -> Option<&Edges> {
        self.edges.as_ref()
    }

    /// How the controller does.
    #[must_use]
    pub fn of_controller(&self, cluster: &ClusterName) -> kafka::Cluster {
        self.clients.get(cluster).map(|(_, controller)| controller.clone()).unwrap_or_default()
    }

    /// Returns when a process of ours died unasked: which, as a sentence.
    pub async fn lost(&self) -> &'static str {
        let edges = async {
            match &self.edges {
                Some(edges) => edges.lost().cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.lost.cancelled() => "the broker of a cluster died",
            () = edges => "the process of the edges died",
        }
    }

    /// Ends the edges and the embedded brokers: asks, waits, kills.
    pub async fn stop(mut self) {
        self.stop.cancel();
        if let Some(edges) = self.edges.take() {
            edges.stop().await;
        }
        for signal in [Signal::TERM, Signal::KILL] {
            for broker in &self.brokers {
                broker.signal(signal).ok();
            }
            let all = async { while self.watches.join_next().await.is_some() {} };
            if tokio::time::timeout(FAREWELL, all).await.is_ok() {
                return;
            }
        }
    }
}
