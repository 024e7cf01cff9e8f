//! Brokers that `deploy/kafka/up` started on this machine, and nobody else's: found by what it
//! wrote down, signalled through their pidfds.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, WaitId, WaitIdOptions, pidfd_send_signal, waitid};
use serde::Deserialize;
use tokio::io::unix::AsyncFd;

use crate::guard::{Identity, Revival};
use crate::ids::{ClusterName, GroupName};
use crate::kafka::{Admin, Cluster, KafkaError};
use crate::time::Mono;
use crate::topology::{Address, Plan};

/// The kernel ends a process within milliseconds, on a busy host too.
const DEATH: Duration = Duration::from_secs(5);
/// A broker reads its logs when it starts, and joins its cluster.
const BACK: Duration = Duration::from_secs(60);

/// A broker that can be killed and started again.
pub struct Broker {
    /// Where it listens.
    pub address: String,
    /// Its cluster, as the plan calls it.
    pub cluster_name: ClusterName,
    /// How it is started.
    pub revival: Revival,
    cluster: Cluster,
    pidfd: OwnedFd,
}

/// Why a broker cannot be killed, or not be started.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// The cluster does not say who coordinates the group.
    #[error("nobody says which broker coordinates group {0}")]
    Unknown(GroupName),
    /// The cluster does not answer.
    #[error("the coordinator of group {group} cannot be found")]
    Kafka {
        /// Which group.
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
    /// The process could not be reached, killed or started.
    #[error("it could not be {0}")]
    Process(&'static str, #[source] io::Error),
    /// It was started, and does not serve.
    #[error("it was not {0} within {1:?}")]
    Late(&'static str, Duration),
}

/// What `deploy/kafka/up` writes down.
#[derive(Deserialize)]
struct State {
    clusters: Vec<StateCluster>,
}

#[derive(Deserialize)]
struct StateCluster {
    brokers: Vec<StateBroker>,
}

#[derive(Deserialize)]
struct StateBroker {
    address: String,
    #[serde(flatten)]
    revival: Revival,
}

impl Broker {
    /// The broker that coordinates a group now.
    ///
    /// # Errors
    /// The cluster does not tell, or the broker is not one of `deploy/kafka/up`.
    pub async fn coordinating(plan: &Plan, group: &GroupName) -> Result<Self, BrokerError> {
        let unknown = || BrokerError::Unknown(group.clone());
        let planned = plan.groups.get(group).ok_or_else(unknown)?;
        let placed = plan.clusters.get(&planned.cluster).ok_or_else(unknown)?;
        let Address::Bootstrap(bootstrap) = &placed.address else { return Err(unknown()) };
        let access = placed.controller().clone();
        let cluster = Cluster { bootstrap: bootstrap.clone(), access };
        let (asked, consumer_group) = (cluster.clone(), planned.consumer_group.clone());
        let topic = planned.topic.clone();
        // The client's calls block.
        let runtime = tokio::runtime::Handle::current();
        let told = tokio::task::spawn_blocking(move || {
            let admin = Admin::new(&asked)?;
            runtime.block_on(admin.coordinator(&consumer_group, &topic))
        });
        let failed = |source| BrokerError::Kafka { group: group.clone(), source };
        let address = told.await.map_err(|_| unknown())?.map_err(failed)?.ok_or_else(unknown)?;
        Self::at(address, planned.cluster.clone(), cluster)
    }

    fn at(
        address: String,
        cluster_name: ClusterName,
        cluster: Cluster,
    ) -> Result<Self, BrokerError> {
        let file = state_file();
        let text = fs::read_to_string(&file).unwrap_or_default();
        let known = serde_json::from_str::<State>(&text).ok().into_iter();
        let mut brokers = known.flat_map(|state| state.clusters).flat_map(|it| it.brokers);
        let Some(StateBroker { revival, .. }) = brokers.find(|it| it.address == address) else {
            return Err(BrokerError::Foreign { address, file });
        };
        let gone = |error: io::Error| BrokerError::Process("found", error);
        let pidfd = revival.identity().and_then(Identity::open).map_err(gone)?;
        let pidfd = pidfd.ok_or_else(|| gone(io::ErrorKind::NotFound.into()))?;
        Ok(Self { address, cluster_name, revival, cluster, pidfd })
    }

    /// Kills it, and waits until it is gone.
    ///
    /// # Errors
    /// The system refuses, or it does not die.
    pub async fn kill(&self) -> Result<(), BrokerError> {
        let refused = |error: io::Error| BrokerError::Process("killed", error);
        let copy = self.pidfd.try_clone().map_err(refused)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe to call; an OwnedFd keeps what that asks for"
        )]
        let watched = AsyncFd::with_interest(copy, tokio::io::Interest::READABLE);
        let watched = watched.map_err(refused)?;
        pidfd_send_signal(&self.pidfd, Signal::KILL).map_err(|error| refused(error.into()))?;
        let gone = tokio::time::timeout(DEATH, watched.readable()).await.is_ok();
        // One that we started ourselves wants to be waited for; any other belongs to init.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        waitid(WaitId::PidFd(self.pidfd.as_fd()), options).ok();
        if gone { Ok(()) } else { Err(BrokerError::Late("dead", DEATH)) }
    }

    /// Whether it has not ended: a pidfd becomes readable when it does.
    fn lives(&self) -> bool {
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        poll(&mut fds, Some(&rustix::time::Timespec::default())).is_ok_and(|ready| ready == 0)
    }

    /// Starts it again, unless it never died.
    ///
    /// # Errors
    /// The system refuses.
    pub fn start(&self) -> Result<(), BrokerError> {
        if !self.lives() {
            let child = self.revival.start();
            let child = child.map_err(|error| BrokerError::Process("started", error))?;
            // Nobody where the guard was first, while this process was stopped. Whoever it is
            // outlives the run, as `deploy/kafka/up` meant it to; `down` ends it.
            drop(child);
        }
        Ok(())
    }

    /// Waits until it serves, and says itself that its cluster counts on it: the others go on
    /// naming one that is dead until its session is over.
    ///
    /// # Errors
    /// It does not come back.
    pub async fn serves(&self) -> Result<(), BrokerError> {
        let itself = Cluster { bootstrap: self.address.clone(), ..self.cluster.clone() };
        let began = Mono::now();
        while Mono::now().since(began) < BACK {
            let (asked, runtime) = (itself.clone(), tokio::runtime::Handle::current());
            let told = tokio::task::spawn_blocking(move || {
                let _entered = runtime.enter();
                Admin::new(&asked).and_then(|admin| admin.brokers())
            });
            if let Ok(Ok(brokers)) = told.await
                && brokers.values().any(|address| *address == self.address)
            {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Err(BrokerError::Late("back", BACK))
    }
}

/// Where `deploy/kafka/up` writes down what runs.
fn state_file() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = || PathBuf::from(set("HOME").unwrap_or_default()).join(".local/state");
    let state = || set("XDG_STATE_HOME").map_or_else(home, PathBuf::from).join("tandem/kafka");
    set("TANDEM_KAFKA").map_or_else(state, PathBuf::from).join("clusters.json")
}
