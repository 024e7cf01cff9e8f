//! A topology that is kept up, on one page: its supervisor is started or found again, and what it
//! says is folded, verified and answered from. This process may die: the supervisor goes on.
//!
//! ```text
//!  supervisor --facts--> Recorder --> fold --> Service --> terminal, socket
//!                           |
//!                           +-----> telemetry
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::stage::StageSpec;
use super::supervise::{Charge, Ended};
use super::{Milestone, OnMilestone, OnRecorder, RunError};
use crate::controller::Recorder;
use crate::guard::{Identity, Purpose};
use crate::journal::{Bounds, Header, Sink};
use crate::live::Live;
use crate::status_socket::StatusServer;
use crate::supervision::Found;
use crate::telemetry::Operation;
use crate::time::Span;

mod adopt;
mod aftermath;
mod listening;
mod service;
mod starting;

pub use adopt::{Adopted, Choice, choose};
use listening::{Last, Listener};
pub use service::Service;
use starting::Supervisor;

/// How often to check whether the journal is written.
const LOOK_AT_JOURNAL: Duration = Duration::from_millis(500);

/// Called with a line of the supervisor's log.
pub type OnLog = Box<dyn Fn(&str) + Send + Sync>;

/// A topology to keep up: every choice is made.
pub struct UpkeepRequest {
    /// The journal's first line.
    pub header: Header,
    /// The folder for the journals and the logs.
    pub folder: PathBuf,
    /// The `tandem` binary. The supervisor and all that it starts are started from it.
    pub program: PathBuf,
    /// Do not remove the topics that the run creates.
    pub keep: bool,
    /// How long to keep it up; `None` means until it is asked to end.
    pub lasts: Option<Duration>,
    /// The limits on the size of the journals.
    pub bounds: Bounds,
    /// The supervisor that keeps it up already.
    pub supervisor: Option<Adopted>,
    /// Called at each milestone.
    pub on_milestone: OnMilestone,
    /// Called with the recorder before any fact is recorded.
    pub on_recorder: OnRecorder,
    /// Called with the recorder when all facts are recorded that were there before.
    pub on_caught: OnRecorder,
    /// Called with each line of the supervisor's log.
    pub on_log: OnLog,
    /// Called with each operation of the supervisor.
    pub on_operation: Box<dyn Fn(Operation) + Send + Sync>,
    /// Called with the process of the supervisor.
    pub on_supervisor: Box<dyn Fn(Identity) + Send + Sync>,
}

impl UpkeepRequest {
    pub(super) fn spec(&self) -> StageSpec<'_> {
        let Self { header, folder, program, keep, on_milestone, .. } = self;
        let (on_milestone, purpose) = (&**on_milestone, Purpose::Upkeep);
        StageSpec { header, folder, program, keep: *keep, on_milestone, purpose }
    }

    fn charge(&self) -> Charge {
        let Self { header, folder, keep, lasts, bounds, .. } = self;
        let (header, folder) = (header.clone(), folder.clone());
        let (lasts, bounds, starter) = (lasts.map(Span), *bounds, Identity::own());
        Charge { header, folder, keep: *keep, lasts, bounds, starter }
    }
}

/// Keeps a topology up until it is asked to end, its time is over, or it cannot continue. Meanwhile
/// `service` holds its current state. When this returns, every process that was started has ended,
/// unless another process watches in the place of this one, or the reason says that they go on.
///
/// # Errors
/// It could not start, or its supervisor is gone.
pub async fn keep_up(
    request: &UpkeepRequest,
    service: &Arc<Service>,
    interrupt: &CancellationToken,
) -> Result<Ended, RunError> {
    let server = StatusServer::open()?;
    let record = Recorder::observing(Sink::Elsewhere, Live::new(&request.header.plan));
    let record = Arc::new(record.map_err(RunError::Thread)?);
    service.begin(&record);
    (request.on_recorder)(&record);
    let closed = CancellationToken::new();
    let mut answers = answer(service, server, &closed);
    let (supervisor, said) = match &request.supervisor {
        Some(adopted) => Supervisor::adopt(request, adopted).await?,
        None => {
            (request.on_milestone)(Milestone::Starting);
            Supervisor::start(request, interrupt).await?
        }
    };
    service.supervised(supervisor.process().pid);
    service.ends(said.about.ends);
    let listener = Listener::new(request, &record, service, said.watching);
    let last = listener.listen(&supervisor, interrupt).await;
    if let Ok(Last::OfAll(_)) = &last {
        supervisor.ended().await;
    }
    let ended = last.map(Last::into_ended);
    let why = ended.as_ref().ok().and_then(|ended| ended.why.as_deref());
    service.end(why.unwrap_or("it could not continue"));
    closed.cancel();
    while answers.join_next().await.is_some() {}
    ended
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
