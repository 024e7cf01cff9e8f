//! All that must stand before a member may start: guard, brokers, edges, topics; and how it is
//! struck when the run is over.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info_span};

use super::ending::{Ending, unguarded, unhealed, without_guard};
use super::pulse::pulsed;
use super::{Milestone, RunError};
use crate::controller::{
    Canary, Clusters, Fleet, Provisioned, Record, Sentinels, SuspendWatch, provision,
};
use crate::guard::{Guard, GuardError, Purpose, Run};
use crate::journal::Header;
use crate::observation::{Outcome, What};
use crate::telemetry::names;
use crate::topology::Address;

/// How long an interrupted run waits for topics that are being made.
const HASTE: Duration = Duration::from_secs(2);

/// What is staged, and where it is told and written.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    /// Plan and name of the run.
    pub(super) header: &'a Header,
    /// Where journal and logs go.
    pub(super) folder: &'a Path,
    /// `tandem` itself.
    pub(super) program: &'a Path,
    /// Topics that were made stay.
    pub(super) keep: bool,
    /// How often it is asked who was stopped.
    pub(super) look: Duration,
    /// Hears how far the run is.
    pub(super) tell: &'a (dyn Fn(Milestone) + Send + Sync),
    /// What it is for.
    pub(super) purpose: Purpose,
}

/// What stands.
pub(super) struct Stage {
    pub(super) record: Arc<Record>,
    pub(super) guard: Arc<Guard>,
    pub(super) clusters: Clusters,
    topics: Provisioned,
    canary: Canary,
    suspends: SuspendWatch,
    sentinels: Sentinels,
}

impl Scene<'_> {
    /// What its guard is told, and writes down.
    fn guarded(&self) -> Run {
        let folder = fs::canonicalize(self.folder).unwrap_or_else(|_| self.folder.to_owned());
        let run = Run::own(self.header.run.clone(), self.header.plan.topology.clone(), folder);
        run.with(self.purpose)
    }

    /// Makes the folder, which must be empty or missing; the one for logs in it.
    pub(super) fn prepare_folder(&self) -> Result<PathBuf, RunError> {
        let refused = |source| RunError::Folder { folder: self.folder.to_owned(), source };
        fs::create_dir_all(self.folder).map_err(refused)?;
        if fs::read_dir(self.folder).map_err(refused)?.next().is_some() {
            return Err(RunError::NotEmpty { folder: self.folder.to_owned() });
        }
        let logs = self.folder.join("logs");
        fs::create_dir(&logs).map_err(refused)?;
        Ok(logs)
    }

    /// Removes what a run that could not begin has made, but for logs in which something stands.
    pub(super) fn sweep(&self) {
        let logs = self.folder.join("logs");
        for log in fs::read_dir(&logs).into_iter().flatten().flatten() {
            if log.metadata().is_ok_and(|log| log.len() == 0) {
                fs::remove_file(log.path()).ok();
            }
        }
        for file in fs::read_dir(self.folder).into_iter().flatten().flatten() {
            let name = file.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("journal") && name.ends_with(".jsonl") {
                fs::remove_file(file.path()).ok();
            }
        }
        // A folder that is not empty refuses to go, as it should.
        if fs::remove_dir(&logs).and_then(|()| fs::remove_dir(self.folder)).is_err() {
            tracing::warn!(logs = %logs.display(), "What was logged until then stays.");
        }
    }
}

impl Stage {
    /// Sets the stage. An error leaves nothing standing.
    pub(super) async fn set(
        scene: &Scene<'_>,
        logs: &Path,
        record: Arc<Record>,
        interrupt: &CancellationToken,
    ) -> Result<Self, RunError> {
        let guard = Arc::new(Guard::start(scene.program, &scene.guarded())?);
        let held = Arc::clone(&guard);
        pulsed(&held, Self::set_guarded(scene, logs, record, guard, interrupt)).await
    }

    async fn set_guarded(
        scene: &Scene<'_>,
        logs: &Path,
        record: Arc<Record>,
        guard: Arc<Guard>,
        interrupt: &CancellationToken,
    ) -> Result<Self, RunError> {
        let plan = &scene.header.plan;
        (scene.tell)(Milestone::Starting);
        let deployed = plan.clusters.values().any(|one| one.address != Address::Embedded);
        let (children, noting) = (Arc::clone(guard.children()), Arc::clone(&record));
        let canary = Canary::start(noting, children, deployed).map_err(RunError::Canary)?;
        let suspends = SuspendWatch::start(Arc::clone(&record)).map_err(RunError::Thread)?;
        let clusters = Clusters::start(plan, scene.program, logs, &guard, &record);
        let span = info_span!(target: names::LIVE, names::START_CLUSTERS);
        let clusters = clusters.instrument(span).await?;
        let topics = Provisioned::default();
        let provisioned = {
            let done = provision(plan, &clusters, &topics, interrupt);
            let done = done.instrument(info_span!(target: names::LIVE, names::PROVISION));
            tokio::pin!(done);
            tokio::select! {
                biased;
                () = interrupt.cancelled() => {
                    // What is being made is finished, if that is soon, so that it can be removed.
                    tokio::time::timeout(HASTE, done).await.ok();
                    Err(RunError::Interrupted)
                }
                loss = unguarded(&guard) => Err(GuardError::from(loss).into()),
                done = &mut done => done.map_err(RunError::from),
            }
        };
        if let Err(error) = provisioned {
            if let Err(left) = topics.remove().await {
                let left = crate::error::chain(&left);
                tracing::warn!(left, "Topics that were made are still there.");
            }
            clusters.stop().await;
            return Err(error);
        }
        let sentinels = Sentinels::start(plan, &clusters, &record).map_err(RunError::Thread)?;
        Ok(Self { record, guard, clusters, topics, canary, suspends, sentinels })
    }

    /// Starts the members.
    pub(super) fn fleet(&self, scene: &Scene<'_>, logs: &Path) -> Fleet {
        let Self { clusters, guard, record, .. } = self;
        let plan = &scene.header.plan;
        Fleet::start(plan, clusters, scene.program, logs, guard, record, scene.look)
    }

    /// What ends a run that nobody asked to end, and an `interrupt`; `lost` says which process of
    /// ours was lost, where that ends it.
    pub(super) async fn trouble(
        &self,
        interrupt: &CancellationToken,
        lost: impl Future<Output = String>,
    ) -> Ending {
        let broken = |why: String| (Outcome::Broken, Some(why));
        tokio::select! {
            biased;
            () = interrupt.cancelled() => (Outcome::Interrupted, None),
            () = self.record.broken().cancelled() => {
                let why = self.record.failure().map(|failure| crate::error::chain(&failure));
                (Outcome::Broken, why)
            }
            why = lost => broken(why),
            loss = unguarded(&self.guard) => broken(loss.to_string()),
        }
    }

    /// Members leave, and all that was staged ends; how the run ended, after all.
    pub(super) async fn strike(self, scene: &Scene<'_>, fleet: Fleet, ending: Ending) -> Ending {
        let (record, guard) = (Arc::clone(&self.record), Arc::clone(&self.guard));
        let mut ending = pulsed(&guard, self.dismantle(scene, fleet, ending)).await;
        if let Some(guard) = Arc::into_inner(guard)
            && let Err(error) = guard.free()
        {
            ending = unhealed(ending, &error);
        }
        let (how, why) = ending.clone();
        record.note(None, What::Ended { how, why });
        ending
    }

    /// Ends all but the guard.
    async fn dismantle(self, scene: &Scene<'_>, fleet: Fleet, ending: Ending) -> Ending {
        let mut ending = without_guard(ending, &self.guard, &self.record).await;
        let Self { clusters, topics, canary, suspends, sentinels, .. } = self;
        (scene.tell)(Milestone::Stopping);
        sentinels.stop();
        fleet.stop().await;
        drop((canary, suspends, sentinels));
        if !scene.keep
            && let Err(error) = topics.remove().await
        {
            ending = unhealed(ending, &error);
        }
        clusters.stop().await;
        ending
    }
}
