//! A topology that is kept up, on one page: start, watch, answer, stop.
//!
//! ```text
//!  members --facts--> Recorder --> journal, file after file
//!                        |
//!                        +-----> fold --> Service --> terminal, socket
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::ending::Ending;
use super::intake::Intake;
use super::pulse::pulsed;
use super::stage::{Stage, StageSpec};
use super::{OnMilestone, OnRecorder, RunError};
use crate::controller::{Gate, Recorder};
use crate::guard::Purpose;
use crate::ids::TrialNumber;
use crate::journal::{Bounds, Header, Rolling};
use crate::live::Live;
use crate::observation::Outcome;
use crate::status_socket::StatusServer;
use crate::time::{Mono, Span};

mod service;

pub use service::Service;

/// A topology that is kept up is judged as one trial.
const TRIAL: TrialNumber = TrialNumber(1);
/// How long a group must be stable to count as settled again.
const SETTLED: Duration = Duration::from_secs(1);
/// How often to check whether groups are settled.
const LOOK: Duration = Duration::from_millis(100);
/// How often to check whether the journal is written.
const LOOK_AT_JOURNAL: Duration = Duration::from_millis(500);

/// A topology to keep up: every choice is made.
pub struct UpkeepRequest {
    /// The journal's first line.
    pub header: Header,
    /// The folder for the journals and the logs.
    pub folder: PathBuf,
    /// The `tandem` binary. Members, brokers and the guard are started from it.
    pub program: PathBuf,
    /// Do not remove the topics that the run creates.
    pub keep: bool,
    /// How long to keep it up; `None` means until it is asked to end.
    pub lasts: Option<Duration>,
    /// The limits on the size of the journals.
    pub bounds: Bounds,
    /// Called at each milestone.
    pub on_milestone: OnMilestone,
    /// Called with the recorder before any fact is recorded.
    pub on_recorder: OnRecorder,
}

/// How keeping a topology up ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// `Completed` if it was asked to end, or its time was up.
    pub how: Outcome,
    /// The reason in words, if there is one to report.
    pub why: Option<String>,
}

impl UpkeepRequest {
    pub(super) fn spec(&self) -> StageSpec<'_> {
        let Self { header, folder, program, keep, on_milestone, .. } = self;
        let (on_milestone, purpose) = (&**on_milestone, Purpose::Upkeep);
        StageSpec { header, folder, program, keep: *keep, on_milestone, purpose }
    }

    /// Waits until its time is over; for ever if it has no limit.
    pub(super) async fn time_is_over(&self) -> Ending {
        let Some(lasts) = self.lasts else { return std::future::pending().await };
        tokio::time::sleep(lasts).await;
        (Outcome::Completed, Some(format!("its time of {} is over", Span(lasts))))
    }
}

/// Keeps a topology up until it is asked to end, its time is over, or it cannot continue. Meanwhile
/// `service` holds its current state. When this returns, every process that it started has ended.
///
/// # Errors
/// It could not start, or its journal could not be written to the end.
pub async fn keep_up(
    request: &UpkeepRequest,
    service: &Arc<Service>,
    interrupt: &CancellationToken,
) -> Result<Ended, RunError> {
    let spec = request.spec();
    let plan = &request.header.plan;
    let logs = spec.prepare_folder()?;
    let server = StatusServer::open().inspect_err(|_| spec.sweep())?;
    let set = async {
        let journal = Rolling::create(&request.folder, request.header.clone(), request.bounds)?;
        let record = Recorder::new(journal, Live::new(plan)).map_err(RunError::Thread)?;
        let record = Arc::new(record);
        service.begin(&record);
        (request.on_recorder)(&record);
        Stage::set(&spec, &logs, record, interrupt).await
    };
    let stage = set.await.inspect_err(|_| spec.sweep())?;
    let (stop, closed) = (CancellationToken::new(), CancellationToken::new());
    let mut tasks = JoinSet::new();
    let groups = plan.groups.keys().cloned();
    let gate = Arc::new(Gate::new(Arc::clone(&stage.record), groups, SETTLED));
    tasks.spawn(gate.watch_each(LOOK, stop.clone()));
    let mut answers = answer(service, server, &closed);
    service.ends(request.lasts.map(|lasts| Mono::now() + lasts));
    let clusters = plan.clusters.keys();
    let clusters = clusters.map(|name| (name.clone(), stage.clusters.of_controller(name)));
    let intake = Intake::start(plan, &clusters.collect(), &stage.record);
    let intake = intake.unwrap_or_else(|error| {
        tracing::error!(%error, "The facts of members that were not started here are not read.");
        None
    });
    let fleet = stage.fleet(&spec, &logs);
    let ending = pulsed(&stage.guard, until(request, &stage, interrupt)).await;
    // Judging ends before the first member leaves.
    service.judge_until_now(&stage.record);
    if let Some(intake) = intake {
        // The facts of the last instants are on their way.
        pulsed(&stage.guard, intake.finish(&stage.record)).await;
    }
    stop.cancel();
    let record = Arc::clone(&stage.record);
    let (how, why) = stage.teardown(&spec, fleet, ending).await;
    while tasks.join_next().await.is_some() {}
    service.end(why.as_deref().unwrap_or("it could not continue"));
    closed.cancel();
    while answers.join_next().await.is_some() {}
    record.flush().await?;
    Ok(Ended { how, why })
}

/// Waits until the topology must no longer be kept up.
async fn until(request: &UpkeepRequest, stage: &Stage, interrupt: &CancellationToken) -> Ending {
    let lost = stage.clusters.keep(&request.header.plan, &stage.guard);
    tokio::select! {
        biased;
        ending = stage.trouble(interrupt, lost) => match ending {
            (Outcome::Interrupted, _) => asked_to_end(),
            other => other,
        },
        ending = request.time_is_over() => ending,
    }
}

/// The ending of what its user ends.
pub(super) fn asked_to_end() -> Ending {
    (Outcome::Completed, Some("asked to end".to_owned()))
}

/// Answers the clients of `service`, and looks whether the journal is written, until `closed`.
pub(super) fn answer(
    service: &Arc<Service>,
    server: StatusServer,
    closed: &CancellationToken,
) -> JoinSet<()> {
    let mut answers = JoinSet::new();
    answers.spawn(server.serve(service.source(), closed.clone()));
    answers.spawn(look_at_journal(Arc::clone(service), closed.clone()));
    answers
}

/// Publishes when the journal can no longer be written, and when it can be again.
async fn look_at_journal(service: Arc<Service>, closed: CancellationToken) {
    while !closed.is_cancelled() {
        service.publish_journal();
        tokio::select! {
            () = closed.cancelled() => {}
            () = tokio::time::sleep(LOOK_AT_JOURNAL) => {}
        }
    }
}
