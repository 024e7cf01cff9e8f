//! The supervisor of a topology, on one page: starts brokers and members, restarts them, writes
//! their facts, and tells them to all that watch.
//!
//! ```text
//!  members --facts--> Recorder --> journal, file after file
//!                        |
//!                        +-----> Hub --> each `tandem up` that watches
//! ```
//!
//! It is a process of its own, so that members outlive `tandem up`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::ending::Ending;
use super::intake::Intake;
use super::judging::Judging;
use super::pulse::pulsed;
use super::stage::{Stage, StageSpec};
use super::{Milestone, RunError};
use crate::controller::{Fleet, Gate, Recorder};
use crate::guard::{Identity, Purpose};
use crate::journal::{Bounds, Header, Rolling};
use crate::live::Live;
use crate::observation::Outcome;
use crate::status_socket::{Listening, Sockets};
use crate::telemetry::Operations;
use crate::time::{Mono, Span};

mod changes;
mod connection;
mod experiments;
mod history;
mod hub;
mod recipient;

use hub::Hub;

/// How long a group must be stable to count as settled again.
const SETTLED: Duration = Duration::from_secs(1);
/// How often to check whether groups are settled.
const LOOK: Duration = Duration::from_millis(100);

/// What a supervisor is to keep up: every choice is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Charge {
    /// The journal's first line.
    pub header: Header,
    /// The folder for the journals and the logs.
    pub folder: PathBuf,
    /// Do not remove the topics that it creates.
    pub keep: bool,
    /// How long to keep it up; `None` means until it is asked to end.
    pub lasts: Option<Span>,
    /// The limits on the size of the journals.
    pub bounds: Bounds,
    /// The `tandem up` that starts it. It counts as watching until it does, or ends.
    pub starter: Identity,
}

/// How keeping a topology up ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// `Completed` if it was asked to end, or its time was up.
    pub how: Outcome,
    /// The reason in words, if there is one to report.
    pub why: Option<String>,
}

/// What connects a supervisor with its process.
pub struct Surroundings<'a> {
    /// The `tandem` binary. Members, brokers and the guard are started from it.
    pub program: &'a Path,
    /// The lines of the process's log.
    pub log: broadcast::Sender<String>,
    /// What the process does, for traces.
    pub operations: Operations,
    /// Called with the folder for logs, once it is there.
    pub on_folder: &'a (dyn Fn(&Path) + Send + Sync),
    /// Called when brokers and topics are there, and members start.
    pub on_ready: &'a (dyn Fn() + Send + Sync),
}

/// Keeps a topology up until it is asked to end, its time is over, or it cannot continue. When this
/// returns, every process that it started has ended, and those that watch know why.
///
/// # Errors
/// It could not start.
pub async fn supervise(
    charge: &Charge,
    around: &Surroundings<'_>,
    interrupt: &CancellationToken,
) -> Result<Ended, RunError> {
    let plan = &charge.header.plan;
    let hub = std::sync::OnceLock::<Arc<Hub>>::new();
    let on_milestone = |milestone| {
        if let (Milestone::Stopping, Some(hub)) = (milestone, hub.get()) {
            hub.stopping();
        }
    };
    let spec = charge.spec(around, &on_milestone);
    let logs = spec.prepare_folder()?;
    (around.on_folder)(&logs);
    let listening = Listening::open(Sockets::Supervisors).inspect_err(|_| spec.sweep())?;
    let record = charge.recorder().inspect_err(|_| spec.sweep())?;
    let judging = Judging::follow(&record);
    // It answers from the start, so that another `tandem up` knows of it.
    let hub = Arc::clone(hub.get_or_init(|| Arc::new(Hub::new(charge, &record, around))));
    let (closed, mut tasks) = (CancellationToken::new(), JoinSet::new());
    tasks.spawn(Arc::clone(&hub).serve(listening, closed.clone()));
    let stage = match Stage::set(&spec, &logs, record, interrupt).await {
        Ok(stage) => stage,
        Err(error) => {
            let why = Some(crate::error::chain(&error));
            hub.end(&Ended { how: Outcome::Broken, why });
            farewell(closed, tasks).await;
            spec.sweep();
            return Err(error);
        }
    };
    let ends = charge.lasts.map(|lasts| Mono::now() + lasts.get());
    let stop = CancellationToken::new();
    let gate = Gate::new(Arc::clone(&stage.record), plan.groups.keys().cloned(), SETTLED);
    let asked = Arc::clone(&hub);
    let alone = move || asked.experiments.underway().is_none();
    tasks.spawn(Arc::new(gate).watch_each(LOOK, alone, stop.clone()));
    let clusters = plan.clusters.keys();
    let clusters = clusters.map(|name| (name.clone(), stage.clusters.of_controller(name)));
    let (clusters, outside) = (clusters.collect(), &hub.experiments.outside);
    outside.connect(plan, &clusters);
    let intake = Intake::start(plan, &clusters, (&stage.record, outside));
    let intake = intake.unwrap_or_else(|error| {
        tracing::error!(%error, "The facts of members that were not started here are not read.");
        None
    });
    let fleet = stage.fleet(&spec, &logs);
    hub.up(&stage, ends);
    (around.on_ready)();
    let ending = pulsed(&stage.guard, until(charge, &stage, &fleet, &hub, interrupt)).await;
    // Judging ends before the first member leaves.
    judging.end(&stage.record);
    if let Some(intake) = intake {
        // The facts of the last instants are on their way.
        pulsed(&stage.guard, intake.finish(&stage.record)).await;
    }
    stop.cancel();
    let record = Arc::clone(&stage.record);
    let (mut how, mut why) = stage.teardown(&spec, fleet, ending).await;
    if let Err(error) = record.flush().await {
        (how, why) = (Outcome::Broken, Some(crate::error::chain(&error)));
    }
    let ended = Ended { how, why };
    hub.end(&ended);
    farewell(closed, tasks).await;
    Ok(ended)
}

/// Lets clients read the last message.
async fn farewell(closed: CancellationToken, mut tasks: JoinSet<()>) {
    closed.cancel();
    while tasks.join_next().await.is_some() {}
}

impl Charge {
    fn recorder(&self) -> Result<Arc<Recorder>, RunError> {
        let journal = Rolling::create(&self.folder, self.header.clone(), self.bounds)?;
        let live = Live::new(&self.header.plan);
        Recorder::new(journal, live).map(Arc::new).map_err(RunError::Thread)
    }

    fn spec<'a>(
        &'a self,
        around: &Surroundings<'a>,
        on_milestone: &'a (dyn Fn(Milestone) + Send + Sync),
    ) -> StageSpec<'a> {
        let Self { header, folder, keep, .. } = self;
        let (program, purpose) = (around.program, Purpose::Upkeep);
        StageSpec { header, folder, program, keep: *keep, on_milestone, purpose }
    }
}

/// Waits until a time is over; for ever if there is no limit.
pub(super) async fn time_is_over(lasts: Option<Span>) -> Ending {
    let Some(lasts) = lasts else { return std::future::pending().await };
    tokio::time::sleep(lasts.get()).await;
    (Outcome::Completed, Some(format!("its time of {lasts} is over")))
}

/// Waits until the topology must no longer be kept up.
///
/// Meanwhile experiments are carried out, as they are ordered.
async fn until(
    charge: &Charge,
    stage: &Stage,
    fleet: &Fleet,
    hub: &Hub,
    interrupt: &CancellationToken,
) -> Ending {
    let lost = stage.clusters.keep(&charge.header.plan, &stage.guard);
    let ends = CancellationToken::new();
    let experiments = hub.experiments.carry_out(stage, fleet, &ends);
    let over = async {
        let ending = tokio::select! {
            biased;
            ending = stage.trouble(interrupt, lost) => match ending {
                (Outcome::Interrupted, _) => asked_to_end(),
                other => other,
            },
            ending = time_is_over(charge.lasts) => ending,
        };
        // An experiment that is under way heals its faults before anything else ends.
        ends.cancel();
        ending
    };
    let changes = hub.changes.carry_out(stage, fleet, hub, &ends);
    tokio::join!(over, experiments, changes).0
}

/// The ending of what its user ends.
pub(super) fn asked_to_end() -> Ending {
    (Outcome::Completed, Some("asked to end".to_owned()))
}
