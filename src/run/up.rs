//! A topology that is kept up, on one page: start, watch, answer, stop.
//!
//! ```text
//!  members --facts--> Record --> journal, file after file
//!                       |
//!                       +------> fold --> Service --> terminal, socket
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::ending::Ending;
use super::pulse::pulsed;
use super::stage::{Scene, Stage};
use super::{RunError, Show, Tell};
use crate::controller::{Gate, LOOK_NOW_AND_THEN, Record};
use crate::guard::Purpose;
use crate::ids::TrialNumber;
use crate::journal::{Bounds, Header, Rolling};
use crate::live::Live;
use crate::observation::Outcome;
use crate::status_socket::Desk;
use crate::time::{Mono, Span};

mod service;

pub use service::Service;

/// All that is judged of a run without an end is one trial.
const TRIAL: TrialNumber = TrialNumber(1);
/// A group that is led by all for so long is settled again.
const SETTLED: Duration = Duration::from_secs(1);
/// How often it is looked whether one is.
const LOOK: Duration = Duration::from_millis(100);
/// How often it is looked whether the journal is written.
const LOOK_AT_JOURNAL: Duration = Duration::from_millis(500);

/// What is to be kept up, with everything decided.
pub struct Upkeep {
    /// The journal's first line.
    pub header: Header,
    /// Where journal and logs go.
    pub folder: PathBuf,
    /// `tandem` itself, which members, brokers and the guard are started from.
    pub program: PathBuf,
    /// Topics that were made stay.
    pub keep: bool,
    /// For how long; without end where nothing is said.
    pub lasts: Option<Duration>,
    /// How large the journal may become.
    pub bounds: Bounds,
    /// Hears how far it is.
    pub tell: Tell,
    /// Is shown the record before anything is written to it, so that it can be followed.
    pub show: Show,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Completed where it was asked to end, or its time was up.
    pub how: Outcome,
    /// In words, where there is something to say.
    pub why: Option<String>,
}

impl Upkeep {
    fn scene(&self) -> Scene<'_> {
        let Self { header, folder, program, keep, tell, .. } = self;
        let look = LOOK_NOW_AND_THEN;
        let purpose = Purpose::Upkeep;
        Scene { header, folder, program, keep: *keep, look, tell: &**tell, purpose }
    }
}

/// Keeps a topology up until it is asked to end, its time is over, or it cannot go on; all the
/// while `service` knows how it stands. Everything it started is then gone.
///
/// # Errors
/// It could not begin.
pub async fn keep_up(
    order: &Upkeep,
    service: &Arc<Service>,
    interrupt: &CancellationToken,
) -> Result<Ended, RunError> {
    let scene = order.scene();
    let plan = &order.header.plan;
    let logs = scene.prepare_folder()?;
    let desk = Desk::open().inspect_err(|_| scene.sweep())?;
    let set = async {
        let journal = Rolling::create(&order.folder, order.header.clone(), order.bounds)?;
        let record = Record::new(journal, Live::new(plan)).map_err(RunError::Thread)?;
        let record = Arc::new(record);
        service.begin(&record);
        (order.show)(&record);
        Stage::set(&scene, &logs, record, interrupt).await
    };
    let stage = set.await.inspect_err(|_| scene.sweep())?;
    let (stop, closed) = (CancellationToken::new(), CancellationToken::new());
    let mut tasks = JoinSet::new();
    let groups = plan.groups.keys().cloned();
    let gate = Arc::new(Gate::new(Arc::clone(&stage.record), groups, SETTLED));
    tasks.spawn(gate.watch_each(LOOK, stop.clone()));
    let mut answers = JoinSet::new();
    answers.spawn(desk.serve(service.source(), closed.clone()));
    answers.spawn(look_at_journal(Arc::clone(service), closed.clone()));

    service.ends(order.lasts.map(|lasts| Mono::now() + lasts));
    let fleet = stage.fleet(&scene, &logs);
    let ending = pulsed(&stage.guard, until(order, &stage, interrupt)).await;
    // What is judged ends before members leave.
    service.judge_until_now(&stage.record);
    stop.cancel();
    let record = Arc::clone(&stage.record);
    let (how, why) = stage.strike(&scene, fleet, ending).await;
    while tasks.join_next().await.is_some() {}
    service.end(why.as_deref().unwrap_or("it could not go on"));
    closed.cancel();
    while answers.join_next().await.is_some() {}
    record.flush().await?;
    Ok(Ended { how, why })
}

/// Waits for what ends it.
async fn until(order: &Upkeep, stage: &Stage, interrupt: &CancellationToken) -> Ending {
    let over = async {
        match order.lasts {
            None => std::future::pending().await,
            Some(lasts) => tokio::time::sleep(lasts).await,
        }
    };
    let lost = stage.clusters.keep(&order.header.plan, &stage.guard);
    tokio::select! {
        biased;
        ending = stage.trouble(interrupt, lost) => match ending {
            (Outcome::Interrupted, _) => (Outcome::Completed, Some("asked to end".to_owned())),
            other => other,
        },
        () = over => {
            let lasted = order.lasts.map_or_else(String::new, |lasts| Span(lasts).to_string());
            (Outcome::Completed, Some(format!("its {lasted} are over")))
        }
    }
}

/// Says when the journal is no longer written, and when it is again.
async fn look_at_journal(service: Arc<Service>, closed: CancellationToken) {
    while !closed.is_cancelled() {
        service.tell_journal();
        tokio::select! {
            () = closed.cancelled() => {}
            () = tokio::time::sleep(LOOK_AT_JOURNAL) => {}
        }
    }
}
