//! An experiment on what is up, on one page: a supervisor carries out each trial; here it is
//! recorded, counted and judged. This process may die: the supervisor heals, and goes on.
//!
//! ```text
//!  play_all -- play 1, play 2, ... --> supervisor --> faults
//!     ^                                    |
//!     +-- how it ended --- Link <-- facts -+
//!                            |
//!                            +--> Recorder --> journal --> report
//! ```

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::ending::Ending;
use super::stage::create_empty;
use super::trial_cost::TrialCosts;
use super::{JudgedRun, Milestone, RunError, RunRequest, play_all};
use crate::controller::Recorder;
use crate::ids::TrialNumber;
use crate::journal::Journal;
use crate::live::Live;
use crate::observation::Outcome;
use crate::supervision::{Asked, Found, Order, TrialEnd};
use crate::time::Mono;

mod link;

use link::Link;

/// How long after the last trial the members' facts about it are complete: longer than a healthy
/// member is ever silent.
const COMPLETE: Duration = Duration::from_millis(500);
/// How much longer those of members that Tandem did not start may be on their way.
const ON_THEIR_WAY: Duration = Duration::from_millis(1_500);

/// The supervisor of what is up, and what the experiment may do there.
pub struct OnUp<'a> {
    /// The supervisor.
    pub found: &'a Found,
    /// Whether the experiment may run the commands that it names.
    pub exec: bool,
}

/// Runs an experiment on what is up, and judges it. When it returns, all faults are healed, and the
/// topology is up.
///
/// # Errors
/// It could not start, or its journal could not be written to the end or read back.
pub async fn run_on_up(
    request: &RunRequest,
    on: &OnUp<'_>,
    interrupt: &CancellationToken,
) -> Result<JudgedRun, RunError> {
    create_empty(&request.folder)?;
    let header = &request.header;
    let order = Order {
        run: header.run.clone(),
        pid: std::process::id(),
        experiment: header.experiment.clone(),
        seed: header.seed,
        exec: on.exec,
    };
    let sweep = || fs::remove_dir(&request.folder);
    let (watching, asks) = on.found.order(order).await.inspect_err(|_| drop(sweep()))?;
    let journal = Journal::create(&request.journal(), header)?;
    let record = Recorder::observing(journal, Live::new(&header.plan));
    let record = Arc::new(record.map_err(RunError::Thread)?);
    (request.on_recorder)(&record);
    let costs = TrialCosts::follow(&record);
    let mut link = Link::start(watching, asks, &record);
    let ending = disturb(request, &link, &record, &costs, interrupt).await;
    (request.on_milestone)(Milestone::Stopping);
    let end = Mono::now();
    costs.end(end);
    let travel = if header.plan.has_external() { ON_THEIR_WAY } else { Duration::ZERO };
    link.passes(end + COMPLETE + travel).await;
    link.end(&record, ending).await;
    costs.finish(&|trial| request.report_played(trial));
    record.flush().await?;
    JudgedRun::of(&request.folder, |_| false).map_err(RunError::Unjudged)
}

/// Plays all trials, and ends them early when something goes wrong.
async fn disturb(
    request: &RunRequest,
    link: &Link,
    record: &Recorder,
    costs: &TrialCosts,
    interrupt: &CancellationToken,
) -> Ending {
    let stop = CancellationToken::new();
    let play = async |number| play_one(link, number).await;
    let trials = play_all(request, (&request.header.plan, record, &stop), play);
    let report = |trial| request.report_played(trial);
    tokio::pin!(trials);
    tokio::select! {
        biased;
        early = trouble(request, link, record, interrupt) => {
            // The current trial still undoes its faults.
            stop.cancel();
            link.ask(Asked::Stop).await;
            match trials.await {
                (Outcome::Unhealed, why) => (Outcome::Unhealed, why),
                _ => early,
            }
        }
        ending = &mut trials => {
            costs.report_last(&report).await;
            ending
        }
        never = costs.report(&report) => match never {},
    }
}

/// Returns when something ends the run before its trials are over.
async fn trouble(
    request: &RunRequest,
    link: &Link,
    record: &Recorder,
    interrupt: &CancellationToken,
) -> Ending {
    tokio::select! {
        biased;
        () = interrupt.cancelled() => (Outcome::Interrupted, None),
        ending = link.over() => ending,
        () = record.broken().cancelled() => {
            (Outcome::Broken, record.failure().map(|failure| crate::error::chain(&failure)))
        }
        why = request.trials.out_of_time() => (Outcome::Aborted, Some(why)),
    }
}

/// Has one trial played.
///
/// # Errors
/// It ends the run.
async fn play_one(link: &Link, number: TrialNumber) -> Result<(), Ending> {
    match link.play(number).await {
        Some(TrialEnd::Recovered) => Ok(()),
        Some(TrialEnd::Stopped(Some(why))) => Err((Outcome::Aborted, Some(why))),
        // The reason follows.
        Some(TrialEnd::Stopped(None)) | None => Err(link.over().await),
        Some(TrialEnd::Unhealed(why)) => Err((Outcome::Unhealed, Some(why))),
        Some(TrialEnd::Unrecovered(why)) => {
            Err((Outcome::Broken, Some(format!("trial {number}: {why}"))))
        }
    }
}
