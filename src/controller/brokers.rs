//! Brokers that may be struck: those of embedded clusters, and those that `deploy/kafka/up` started
//! on this machine.

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

/// The kernel ends a process within milliseconds, on a busy host too.
pub(super) const DEATH: Duration = Duration::from_secs(5);
/// It stops and wakes one as fast.
pub(super) const STOPPED: Duration = Duration::from_secs(5);

/// A broker that can be ended and started again, or paused and woken.
pub struct Broker {
    /// Where it listens.
    pub address: String,
    /// Its cluster, as the plan calls it.
    pub cluster: ClusterName,
    kind: Kind,
}

enum Kind {
    Embedded(Arc<Embedded>),
    Deployed(Deployed),
}

/// Why a broker cannot be struck, or not be healed.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// The cluster does not say who does this for the group.
    #[error("nobody says which broker works for group {0}")]
    Unknown(GroupName),
    /// The cluster does not answer.
    #[error("the broker of group {group} cannot be found")]
    Kafka {
        /// BrokerQuery group.
        group: GroupName,
        /// Why not.
        #[source]
        source: KafkaError,
    },
    /// Only what `deploy/kafka/up` started is touched.
    #[error("{address} is none of the brokers in {}", file.display())]
    Foreign {
        /// Where it listens.
        address: String,
        /// Where the brokers of `deploy/kafka/up` are written down.
        file: PathBuf,
    },
    /// Another user could have written what would be run.
    #[error("{} cannot be believed", file.display())]
    Distrusted {
        /// Where the brokers of `deploy/kafka/up` are written down.
        file: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The process could not be reached, ended, started, paused or woken.
    #[error("it could not be {0}")]
    Process(&'static str, #[source] io::Error),
    /// It is not what it should be by now.
    #[error("it was not {0} within {1:?}")]
    Late(&'static str, Duration),
    /// An embedded one did not last.
    #[error("it died again")]
    Died,
    /// An embedded one did not start again.
    #[error("it does not come back")]
    Cluster(#[from] ClusterError),
    /// It is back, without the topics that died with it.
    #[error("its topics cannot be made again")]
    Topics(#[source] Box<ProvisionError>),
}

impl Broker {
    /// The broker that coordinates a group now.
    ///
    /// # Errors
    /// The cluster does not tell, or the broker is nobody's that may be struck.
    pub async fn coordinating(
        plan: &Plan,
        clusters: &Clusters,
        group: &GroupName,
    ) -> Result<Self, BrokerError> {
        Self::asked(plan, clusters, group, BrokerQuery::Coordinator).await
    }

    /// The broker that leads a partition in the ledger of a group now.
    ///
    /// # Errors
    /// As above.
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
    /// One of them is nobody's that may be struck.
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

    /// Asks the group's cluster which one that is.
    async fn asked(
        plan: &Plan,
        clusters: &Clusters,
        group: &GroupName,
        which: BrokerQuery,
    ) -> Result<Self, BrokerError> {
        let unknown = || BrokerError::Unknown(group.clone());
        let planned = plan.groups.get(group).ok_or_else(unknown)?;
        // An embedded cluster has one broker, whatever it does for whom.
        if let Some(embedded) = clusters.embedded(&planned.cluster) {
            return Ok(Self::embedded(embedded));
        }
        let cluster = clusters.of_controller(&planned.cluster);
        let failed = |source| BrokerError::Kafka { group: group.clone(), source };
        let found = broker_address(cluster.clone(), planned, which).await.map_err(failed)?;
        let address = found.ok_or_else(unknown)?;
        Ok(Self::deployed(Deployed::at(&address, &cluster)?, &planned.cluster))
    }

    /// Where `deploy/kafka/up` writes down what runs, the addresses of all that it wrote there,
    /// and whether they run; or why that is not believed.
    pub fn known() -> (PathBuf, io::Result<Vec<(String, bool)>>) {
        Deployed::known()
    }

    /// What the guard must promise before this signal is sent: how it runs again, though the run is
    /// gone. Nothing where it dies with the run.
    #[must_use]
    pub fn revival(&self, by: Signal) -> Option<Revival> {
        match &self.kind {
            Kind::Embedded(_) => None,
            Kind::Deployed(deployed) => Some(deployed.revival(by)),
        }
    }

    /// Ends or pauses it by `signal`, and waits until it is gone, or stands still.
    ///
    /// # Errors
    /// The system refuses, or it goes on.
    pub async fn strike(&self, signal: Signal) -> Result<(), BrokerError> {
        match (&self.kind, signal == Signal::STOP) {
            (Kind::Embedded(embedded), true) => embedded.halt(true).await,
            (Kind::Embedded(embedded), false) => embedded.end(signal).await,
            (Kind::Deployed(deployed), true) => deployed.halt(true).await,
            (Kind::Deployed(deployed), false) => deployed.end(signal).await,
        }
    }

    /// Wakes it.
    ///
    /// # Errors
    /// The system refuses, or it does not go on.
    pub async fn wake(&self) -> Result<(), BrokerError> {
        match &self.kind {
            Kind::Embedded(embedded) => embedded.halt(false).await,
            Kind::Deployed(deployed) => deployed.halt(false).await,
        }
    }

    /// Starts it again, unless it never died.
    ///
    /// # Errors
    /// The system refuses.
    pub async fn start(&self, guard: &Guard) -> Result<(), BrokerError> {
        match &self.kind {
            Kind::Embedded(embedded) => Ok(embedded.start(guard).await?),
            Kind::Deployed(deployed) => deployed.start(),
        }
    }

    /// Waits until it serves; the topics that an embedded one lost are made again.
    ///
    /// # Errors
    /// It does not come back.
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
