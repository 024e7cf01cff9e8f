//! A broker that `deploy/kafka/up` started on this machine: found through the script's state file,
//! and signalled by pidfd. No other broker is touched.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use rustix::process::{Signal, WaitId, WaitIdOptions, pidfd_send_signal, waitid};
use serde::Deserialize;
use tokio::io::unix::AsyncFd;

use super::brokers::{BrokerError, STOPPED};
use crate::guard::{Identity, Revival, state_home};
use crate::host::{DEATH, is_ours_alone};
use crate::kafka::{Admin, Cluster};
use crate::time::{Mono, Span};

/// How long a broker has to shut down: it hands over its partitions and closes its logs, which
/// takes some seconds.
const SHUTDOWN: Span = Span::ms(30_000);
/// How long a broker has to start: it reads its logs and joins its cluster.
const BACK: Duration = Duration::from_secs(60);

/// A broker that can be ended and started again, or paused.
pub(super) struct Deployed {
    pub(super) address: String,
    process: Identity,
    pidfd: OwnedFd,
    revival: Revival,
    cluster: Cluster,
}

/// The state file of `deploy/kafka/up`.
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

impl Deployed {
    /// The state file of `deploy/kafka/up`, with the address of each broker in it and whether it
    /// runs.
    pub(super) fn known() -> (PathBuf, io::Result<Vec<(String, bool)>>) {
        let brokers = state().map(|clusters| {
            let brokers = clusters.into_iter().flat_map(|cluster| cluster.brokers);
            brokers.map(|broker| (broker.address, broker.revival.lives())).collect()
        });
        (state_file(), brokers)
    }

    /// The pids of all brokers that run.
    pub(super) fn pids() -> BTreeSet<u32> {
        let brokers = state().into_iter().flatten().flat_map(|cluster| cluster.brokers);
        let running = brokers.filter(|broker| broker.revival.lives());
        running.filter_map(|broker| broker.revival.identity().ok()).map(|one| one.pid).collect()
    }

    /// The broker at this address.
    pub(super) fn at(address: &str, cluster: &Cluster) -> Result<Self, BrokerError> {
        let brokers = believed()?.into_iter().flat_map(|it| it.brokers);
        let found = brokers.into_iter().find(|it| it.address == address);
        found.ok_or_else(|| foreign(address)).and_then(|it| Self::of(it, cluster))
    }

    /// All brokers of the cluster with these bootstrap addresses, and of no other.
    pub(super) fn all(cluster: &Cluster) -> Result<Vec<Self>, BrokerError> {
        let listed = |it: &StateBroker| cluster.bootstrap.split(',').any(|one| one == it.address);
        let found = believed()?.into_iter().find(|it| it.brokers.iter().any(listed));
        let found = found.ok_or_else(|| foreign(&cluster.bootstrap))?;
        found.brokers.into_iter().map(|broker| Self::of(broker, cluster)).collect()
    }

    fn of(broker: StateBroker, cluster: &Cluster) -> Result<Self, BrokerError> {
        let StateBroker { address, revival } = broker;
        let gone = |error: io::Error| BrokerError::Process("found", error);
        let process = revival.identity().map_err(gone)?;
        let pidfd = process.open().map_err(gone)?;
        let pidfd = pidfd.ok_or_else(|| gone(io::ErrorKind::NotFound.into()))?;
        Ok(Self { address, process, pidfd, revival, cluster: cluster.clone() })
    }

    /// How the guard starts or wakes it again after the signal `by`, if the run ends first.
    pub(super) fn revival(&self, by: Signal) -> Revival {
        let ends_within = (by == Signal::TERM).then_some(SHUTDOWN);
        Revival { ends_within, ..self.revival.clone() }
    }

    /// Ends it by `signal`, and waits until it has ended.
    pub(super) async fn end(&self, signal: Signal) -> Result<(), BrokerError> {
        let refused = |error: io::Error| BrokerError::Process("ended", error);
        let copy = self.pidfd.try_clone().map_err(refused)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe to call; an OwnedFd keeps what that asks for"
        )]
        let watched = AsyncFd::with_interest(copy, tokio::io::Interest::READABLE);
        let watched = watched.map_err(refused)?;
        pidfd_send_signal(&self.pidfd, signal).map_err(|error| refused(error.into()))?;
        let within = if signal == Signal::KILL { DEATH } else { SHUTDOWN.get() };
        let gone = tokio::time::timeout(within, watched.readable()).await.is_ok();
        // If this process has restarted the broker, it is a child and must be reaped.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        waitid(WaitId::PidFd(self.pidfd.as_fd()), options).ok();
        if gone { Ok(()) } else { Err(BrokerError::Late("dead", within)) }
    }

    /// Pauses or continues it, and waits until the kernel reports it.
    pub(super) async fn halt(&self, paused: bool) -> Result<(), BrokerError> {
        let (signal, done) =
            if paused { (Signal::STOP, "paused") } else { (Signal::CONT, "woken") };
        let refused = |error: io::Error| BrokerError::Process(done, error);
        pidfd_send_signal(&self.pidfd, signal).map_err(|error| refused(error.into()))?;
        let began = Mono::now();
        while Mono::now().since(began) < STOPPED {
            if self.stopped() == Some(paused) {
                // If this process has restarted the broker, it is a child, and its stop must be
                // consumed here, or `StopWatcher` would see it.
                let options = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED;
                waitid(WaitId::PidFd(self.pidfd.as_fd()), options | WaitIdOptions::NOHANG).ok();
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Err(BrokerError::Late(done, STOPPED))
    }

    /// Whether it is stopped; `None` if it is gone.
    fn stopped(&self) -> Option<bool> {
        self.process.is_stopped()
    }

    /// Whether it has not ended: a pidfd becomes readable when it does.
    fn lives(&self) -> bool {
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        poll(&mut fds, Some(&rustix::time::Timespec::default())).is_ok_and(|ready| ready == 0)
    }

    /// Starts it again, unless it still runs.
    pub(super) fn start(&self) -> Result<(), BrokerError> {
        if !self.lives() {
            let child = self.revival.start();
            let child = child.map_err(|error| BrokerError::Process("started", error))?;
            // `None` if the guard has restarted it while this process was stopped. In both cases
            // the broker outlives the run, until `deploy/kafka/down` ends it.
            drop(child);
        }
        Ok(())
    }

    /// Waits until it serves and names itself as a broker of its cluster. The other brokers are not
    /// asked, because they name a dead broker until its session expires.
    pub(super) async fn serves(&self) -> Result<(), BrokerError> {
        let itself = Cluster { bootstrap: self.address.clone(), ..self.cluster.clone() };
        let began = Mono::now();
        while Mono::now().since(began) < BACK {
            let (asked, runtime) = (itself.clone(), tokio::runtime::Handle::current());
            let answer = tokio::task::spawn_blocking(move || {
                let _entered = runtime.enter();
                Admin::new(&asked).and_then(|admin| admin.brokers())
            });
            if let Ok(Ok(brokers)) = answer.await
                && brokers.values().any(|address| *address == self.address)
            {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Err(BrokerError::Late("back", BACK))
    }
}

fn foreign(address: &str) -> BrokerError {
    BrokerError::Foreign { address: address.to_owned(), file: state_file() }
}

fn believed() -> Result<Vec<StateCluster>, BrokerError> {
    state().map_err(|source| BrokerError::Distrusted { file: state_file(), source })
}

/// The clusters in the state file of `deploy/kafka/up`; none if there is no file. The file names
/// commands to run, so it is trusted only if no other user can have written it.
fn state() -> io::Result<Vec<StateCluster>> {
    let path = state_file();
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let mut file = match File::options().read(true).custom_flags(flags).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        file => file?,
    };
    let folder = path.parent().unwrap_or(&path);
    // A user who can write to the folder can replace the file.
    if !is_ours_alone(&file.metadata()?) || !is_ours_alone(&fs::metadata(folder)?) {
        let why = "it and its folder must belong to the user who runs this, and be writable only \
                   by that user: chmod go-w";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(serde_json::from_str::<State>(&text).map(|state| state.clusters)?)
}

/// The path of the state file of `deploy/kafka/up`.
fn state_file() -> PathBuf {
    let set = std::env::var_os("TANDEM_KAFKA").filter(|value| !value.is_empty());
    let usual = || state_home().join("tandem/kafka");
    set.map_or_else(usual, PathBuf::from).join("clusters.json")
}
