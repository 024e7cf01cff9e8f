//! The brokers that faults may target: those of embedded clusters, and those that `deploy/kafka/up`
//! started on this machine.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;

use super::deployed::Deployed;
use super::embedded::Embedded;
use super::provision::remake;
use super::{BrokerQuery, ClusterError, Clusters, ProvisionError, broker_address};
use crate::guard::{Guard, Revival};
use crate::ids::{ClusterName, GroupName, PartitionId};
use crate::kafka::KafkaError;
use crate::topology::Plan;

/// How long a process has to stop or continue; the kernel takes milliseconds.
pub(super) const STOPPED: Duration = Duration::from_secs(5);

/// A broker that can be ended and started again, or paused and woken.
pub struct Broker {
    /// The address on which it listens.
    pub address: String,
    /// The name of its cluster in the plan.
    pub cluster: ClusterName,
    kind: Kind,
}

enum Kind {
    Embedded(Arc<Embedded>),
    Deployed(Deployed),
}

/// A fault on a broker could not be injected, or not be healed.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// The cluster names no broker that does this for the group.
    #[error("the cluster names no broker for group {0}")]
    Unknown(GroupName),
    /// The cluster does not answer.
    #[error("the broker of group {group} cannot be found")]
    Kafka {
        /// The group.
        group: GroupName,
        /// The client's error.
        #[source]
        source: KafkaError,
    },
    /// `deploy/kafka/up` did not start this broker, so faults must not touch it.
    #[error("{address} is none of the brokers in {}", file.display())]
    Foreign {
        /// The broker's address.
        address: String,
        /// The state file of `deploy/kafka/up`.
        file: PathBuf,
    },
    /// Another user could have written the commands in the state file.
    #[error("{} cannot be trusted", file.display())]
    Distrusted {
        /// The state file of `deploy/kafka/up`.
        file: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// The process could not be found, ended, started, paused or woken.
    #[error("the broker could not be {0}")]
    Process(&'static str, #[source] io::Error),
    /// The process did not reach the wanted state in time.
    #[error("the broker was not {0} within {1:?}")]
    Late(&'static str, Duration),
    /// A restarted embedded broker died again.
    #[error("the broker died again")]
    Died,
    /// An embedded broker did not start again.
    #[error("the broker cannot be started again")]
    Cluster(#[from] ClusterError),
    /// The broker is back, but its topics could not be created again.
    #[error("its topics cannot be created again")]
    Topics(#[source] Box<ProvisionError>),
}

impl Broker {
    /// The broker that currently coordinates a group.
    ///
    /// # Errors
    /// The cluster names none, or faults must not touch the broker.
    pub async fn coordinating(
        plan: &Plan,
        clusters: &Clusters,
        group: &GroupName,
    ) -> Result<Self, BrokerError> {
        Self::asked(plan, clusters, group, BrokerQuery::Coordinator).await
    }

    /// The broker that currently leads a partition of a group's ledger.
    ///
    /// # Errors
    /// The cluster names none, or faults must not touch the broker.
    pub async fn leading(
        plan: &Plan,
        clusters: &Clusters,
        group: &GroupName,
        partition: PartitionId,
    ) -> Result<Self, BrokerError> {
        Self::asked(plan, clusters, group, BrokerQuery::Leader(partition)).await
    }

    /// All brokers of a cluster.
    ///
    /// # Errors
    /// Faults must not touch one of them.
    pub fn all(clusters: &Clusters, cluster: &ClusterName) -> Result<Vec<Self>, BrokerError> {
        if let Some(embedded) = clusters.embedded(cluster) {
            return Ok(vec![Self::embedded(embedded)]);
        }
        let deployed = Deployed::all(&clusters.of_controller(cluster))?;
        Ok(deployed.into_iter().map(|it| Self::deployed(it, cluster)).collect())
    }

    fn embedded(embedded: &Arc<Embedded>) -> Self {
        let (address, cluster) = (embedded.address(), embedded.cluster.clone());
        Self { address, cluster, kind: Kind::Embedded(Arc::clone(embedded)) }
    }

    fn deployed(deployed: Deployed, cluster: &ClusterName) -> Self {
        let (address, cluster) = (deployed.address.clone(), cluster.clone());
        Self { address, cluster, kind: Kind::Deployed(deployed) }
    }

    /// Asks the group's cluster for a broker.
    async fn asked(
        plan: &Plan,
        clusters: &Clusters,
        group: &GroupName,
        which: BrokerQuery,
    ) -> Result<Self, BrokerError> {
        let unknown = || BrokerError::Unknown(group.clone());
        let planned = plan.groups.get(group).ok_or_else(unknown)?;
        // An embedded cluster has a single broker.
        if let Some(embedded) = clusters.embedded(&planned.cluster) {
            return Ok(Self::embedded(embedded));
        }
        let cluster = clusters.of_controller(&planned.cluster);
        let failed = |source| BrokerError::Kafka { group: group.clone(), source };
        let found = broker_address(cluster.clone(), planned, which).await.map_err(failed)?;
        let address = found.ok_or_else(unknown)?;
        Ok(Self::deployed(Deployed::at(&address, &cluster)?, &planned.cluster))
    }

    /// The state file of `deploy/kafka/up`, with the address of each broker in it and whether it
    /// runs, or the reason why the file cannot be trusted.
    pub fn known() -> (PathBuf, io::Result<Vec<(String, bool)>>) {
        Deployed::known()
    }

    /// How the guard starts or wakes it again after the signal `by`, if the run is gone. The guard
    /// must promise this before the signal is sent. `None` for a broker that ends with the run.
    #[must_use]
    pub fn revival(&self, by: Signal) -> Option<Revival> {
        match &self.kind {
            Kind::Embedded(_) => None,
            Kind::Deployed(deployed) => Some(deployed.revival(by)),
        }
    }

    /// Ends or pauses it by `signal`, and waits until it has ended or is stopped.
    ///
    /// # Errors
    /// The signal cannot be sent, or has no effect in time.
    pub async fn strike(&self, signal: Signal) -> Result<(), BrokerError> {
        match (&self.kind, signal == Signal::STOP) {
            (Kind::Embedded(embedded), true) => embedded.halt(true).await,
            (Kind::Embedded(embedded), false) => embedded.end(signal).await,
            (Kind::Deployed(deployed), true) => deployed.halt(true).await,
            (Kind::Deployed(deployed), false) => deployed.end(signal).await,
        }
    }

    /// Continues a paused broker.
    ///
    /// # Errors
    /// The signal cannot be sent, or has no effect in time.
    pub async fn wake(&self) -> Result<(), BrokerError> {
        match &self.kind {
            Kind::Embedded(embedded) => embedded.halt(false).await,
            Kind::Deployed(deployed) => deployed.halt(false).await,
        }
    }

    /// Starts it again, unless it still runs.
    ///
    /// # Errors
    /// It cannot be started.
    pub async fn start(&self, guard: &Guard) -> Result<(), BrokerError> {
        match &self.kind {
            Kind::Embedded(embedded) => Ok(embedded.start(guard).await?),
            Kind::Deployed(deployed) => deployed.start(),
        }
    }

    /// Waits until it serves. The topics of an embedded broker are created again.
    ///
    /// # Errors
    /// It does not serve in time.
    pub async fn serves(&self, plan: &Plan, clusters: &Clusters) -> Result<(), BrokerError> {
        match &self.kind {
            Kind::Embedded(_) => {
                let made = remake(plan, clusters, &self.cluster).await;
                made.map_err(|error| BrokerError::Topics(Box::new(error)))
            }
            Kind::Deployed(deployed) => deployed.serves().await,
        }
    }
}
