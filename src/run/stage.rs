//! The environment of a run: guard, brokers, edges and topics are up before the first member
//! starts, and are torn down when the run is over.

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
    Canary, Clusters, Fleet, Folders, LOOK_CLOSELY, LOOK_NOW_AND_THEN, Provisioned, Recorder,
    Sentinels, SuspendWatch, provision,
};
use crate::guard::{Guard, GuardError, Loss, Purpose, Run};
use crate::journal::Header;
use crate::observation::{Outcome, RunEvent};
use crate::telemetry::names;
use crate::topology::PlannedCluster;

/// How long an interrupted run waits for topics that are being created.
const HASTE: Duration = Duration::from_secs(2);
/// The least time between two guards of a run.
const GUARD_AGAIN: Duration = Duration::from_secs(1);

/// What a stage is set up from.
#[derive(Clone, Copy)]
pub(super) struct StageSpec<'a> {
    /// The journal's header, with the plan and the name of the run.
    pub(super) header: &'a Header,
    /// The folder for the journal and the logs.
    pub(super) folder: &'a Path,
    /// The `tandem` binary.
    pub(super) program: &'a Path,
    /// Do not remove the topics that the run creates.
    pub(super) keep: bool,
    /// Called at each milestone.
    pub(super) on_milestone: &'a (dyn Fn(Milestone) + Send + Sync),
    /// The purpose of the run.
    pub(super) purpose: Purpose,
}

/// The environment of a run, set up.
pub(super) struct Stage {
    pub(super) record: Arc<Recorder>,
    pub(super) guard: Arc<Guard>,
    pub(super) clusters: Clusters,
    purpose: Purpose,
    topics: Provisioned,
    canary: Canary,
    suspends: SuspendWatch,
    sentinels: Sentinels,
}

impl StageSpec<'_> {
    /// How often to check for stopped members.
    const fn look(&self) -> Duration {
        match self.purpose {
            Purpose::Experiment => LOOK_CLOSELY,
            Purpose::Upkeep => LOOK_NOW_AND_THEN,
        }
    }

    /// The description of the run that the guard writes to its ledger.
    fn guarded(&self) -> Run {
        let folder = fs::canonicalize(self.folder).unwrap_or_else(|_| self.folder.to_owned());
        let run = Run::own(self.header.run.clone(), self.header.plan.topology.clone(), folder);
        run.with(self.purpose)
    }

    /// Creates the output folder, which must be empty or missing, and returns its folder for logs.
    pub(super) fn prepare_folder(&self) -> Result<PathBuf, RunError> {
        create_empty(self.folder)?;
        let logs = self.folder.join("logs");
        let refused = |source| RunError::Folder { folder: self.folder.to_owned(), source };
        fs::create_dir(&logs).map_err(refused)?;
        Ok(logs)
    }

    /// Removes the files of a run that could not start, except for logs that are not empty.
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
        // `remove_dir` fails on a folder that is not empty, as it should.
        if fs::remove_dir(&logs).and_then(|()| fs::remove_dir(self.folder)).is_err() {
            tracing::warn!(logs = %logs.display(), "The logs of the failed start are kept.");
        }
    }
}

/// Creates a folder, which must be empty or missing.
pub(super) fn create_empty(folder: &Path) -> Result<(), RunError> {
    let refused = |source| RunError::Folder { folder: folder.to_owned(), source };
    fs::create_dir_all(folder).map_err(refused)?;
    if fs::read_dir(folder).map_err(refused)?.next().is_some() {
        return Err(RunError::NotEmpty { folder: folder.to_owned() });
    }
    Ok(())
}

impl Stage {
    /// Sets up the stage. If this fails, everything that was started is stopped again.
    pub(super) async fn set(
        spec: &StageSpec<'_>,
        logs: &Path,
        record: Arc<Recorder>,
        interrupt: &CancellationToken,
    ) -> Result<Self, RunError> {
        let guard = Arc::new(Guard::start(spec.program, &spec.guarded())?);
        let held = Arc::clone(&guard);
        pulsed(&held, Self::set_guarded(spec, logs, record, guard, interrupt)).await
    }

    async fn set_guarded(
        spec: &StageSpec<'_>,
        logs: &Path,
        record: Arc<Recorder>,
        guard: Arc<Guard>,
        interrupt: &CancellationToken,
    ) -> Result<Self, RunError> {
        let plan = &spec.header.plan;
        (spec.on_milestone)(Milestone::Starting);
        let deployed = plan.clusters.values().any(PlannedCluster::outlives_runs);
        let (children, noting) = (Arc::clone(guard.children()), Arc::clone(&record));
        let canary = Canary::start(noting, children, deployed).map_err(RunError::Canary)?;
        let suspends = SuspendWatch::start(Arc::clone(&record)).map_err(RunError::Thread)?;
        let clusters = Clusters::start(plan, spec.program, logs, &guard, &record);
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
                    // Wait briefly for topics that are being created, so that they can be removed.
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
                tracing::warn!(left, "Topics that this run created could not be removed.");
            }
            clusters.stop().await;
            return Err(error);
        }
        let sentinels = Sentinels::start(plan, &clusters, &record).map_err(RunError::Thread)?;
        let purpose = spec.purpose;
        Ok(Self { record, guard, clusters, purpose, topics, canary, suspends, sentinels })
    }

    /// Starts all members.
    pub(super) fn fleet(&self, spec: &StageSpec<'_>, logs: &Path) -> Fleet {
        let Self { clusters, guard, record, .. } = self;
        let plan = &spec.header.plan;
        let folders = Folders { logs, elections: &spec.folder.join("elections") };
        Fleet::start(plan, clusters, spec.program, folders, guard, record, spec.look())
    }

    /// Returns when the run must end: on an `interrupt`, when the journal fails, when the guard is
    /// gone, or when `lost` reports that a process of the run was lost.
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
            loss = self.unguarded() => broken(loss.to_string()),
        }
    }

    /// Returns when the guard is gone, with the reason. Where no faults are injected, another guard
    /// takes the place of one that died.
    async fn unguarded(&self) -> Loss {
        loop {
            let loss = unguarded(&self.guard).await;
            match (self.purpose, loss) {
                (Purpose::Upkeep, Loss::Died | Loss::Mute) => {}
                (Purpose::Experiment, _) | (_, Loss::Healed(_)) => return loss,
            }
            match self.guard.replace_lost() {
                Ok(()) => tracing::warn!("The guard was lost, and another has taken its place."),
                Err(error) => {
                    let error = crate::error::chain(&error);
                    tracing::error!(error, "The guard was lost, and no other can be started.");
                    return loss;
                }
            }
            tokio::time::sleep(GUARD_AGAIN).await;
        }
    }

    /// Stops the members, and then everything else. Returns how the run ended.
    pub(super) async fn teardown(
        self,
        spec: &StageSpec<'_>,
        fleet: Fleet,
        ending: Ending,
    ) -> Ending {
        let (record, guard) = (Arc::clone(&self.record), Arc::clone(&self.guard));
        let mut ending = pulsed(&guard, self.dismantle(spec, fleet, ending)).await;
        if let Some(guard) = Arc::into_inner(guard)
            && let Err(error) = guard.free()
        {
            ending = unhealed(ending, &error);
        }
        let (how, why) = ending.clone();
        record.note(None, RunEvent::Ended { how, why });
        ending
    }

    /// Stops everything except the guard.
    async fn dismantle(self, spec: &StageSpec<'_>, fleet: Fleet, ending: Ending) -> Ending {
        let mut ending = without_guard(ending, &self.guard, &self.record).await;
        let Self { clusters, topics, canary, suspends, sentinels, .. } = self;
        (spec.on_milestone)(Milestone::Stopping);
        sentinels.stop();
        fleet.stop().await;
        drop((canary, suspends, sentinels));
        if !spec.keep
            && let Err(error) = topics.remove().await
        {
            ending = unhealed(ending, &error);
        }
        clusters.stop().await;
        ending
    }
}
