//! A whole experiment on one page: start, disturb and observe, heal, stop, judge.

use std::sync::{Arc, Mutex, OnceLock};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::chaos::{Arena, Played, Schedule, play};
use crate::controller::{Fleet, Gate, Outside, Recorder};
use crate::ids::TrialNumber;
use crate::journal::Journal;
use crate::live::Live;
use crate::observation::Outcome;
use crate::time::Mono;
use crate::topology::Plan;

mod ending;
mod error;
mod intake;
mod judged;
mod judging;
mod observe;
mod on_up;
mod pulse;
mod recorded;
mod replacing;
mod request;
mod stage;
mod stopping;
mod supervise;
mod trial_cost;
mod up;

use ending::Ending;
pub use error::RunError;
pub use judged::JudgedRun;
pub use observe::observe;
pub use on_up::{OnUp, run_on_up};
use pulse::pulsed;
pub use recorded::{JOURNAL_FILE, RecordedRun, read_run, reading};
use replacing::Replacing;
pub use request::{Milestone, OnMilestone, OnRecorder, RunRequest, TrialPlan};
use stage::Stage;
use stopping::Stopping;
pub use supervise::{Charge, Ended, Surroundings, supervise};
pub use trial_cost::TrialCost;
use trial_cost::TrialCosts;
pub use up::{Adopted, Choice, OnLog, Service, UpkeepRequest, choose, keep_up};

/// Runs an experiment and judges it. When it returns, the journal is in the request's folder, and
/// every process that the run started has ended.
///
/// # Errors
/// The run could not start, or its journal could not be written to the end or read back. What goes
/// wrong after the members have started is recorded in the journal, and judged.
pub async fn run(
    request: &RunRequest,
    interrupt: &CancellationToken,
) -> Result<JudgedRun, RunError> {
    record(request, interrupt).await?;
    JudgedRun::of(&request.folder, |_| false).map_err(RunError::Unjudged)
}

/// Plays the experiment into the journal.
async fn record(request: &RunRequest, interrupt: &CancellationToken) -> Result<(), RunError> {
    let spec = request.spec();
    let logs = spec.prepare_folder()?;
    let set = async {
        let journal = Journal::create(&request.journal(), &request.header)?;
        let record = Recorder::new(journal, Live::new(&request.header.plan));
        let record = record.map_err(RunError::Thread)?;
        let record = Arc::new(record);
        (request.on_recorder)(&record);
        Stage::set(&spec, &logs, record, interrupt).await
    };
    let stage = set.await.inspect_err(|_| spec.sweep())?;
    let costs = TrialCosts::follow(&stage.record);
    let fleet = stage.fleet(&spec, &logs);
    let disturbed = disturb(request, &stage, &fleet, &costs, interrupt);
    let ending = pulsed(&stage.guard, disturbed).await;
    costs.end(Mono::now());
    let record = Arc::clone(&stage.record);
    stage.teardown(&spec, fleet, ending).await;
    // The members have ended, so all facts of the last trial are here.
    costs.finish(&|trial| request.report_played(trial));
    Ok(record.flush().await?)
}

/// Plays all trials, and ends them early when something goes wrong.
async fn disturb(
    request: &RunRequest,
    stage: &Stage,
    fleet: &Fleet,
    costs: &TrialCosts,
    interrupt: &CancellationToken,
) -> Ending {
    let Stage { clusters, guard, record, .. } = stage;
    let stop = CancellationToken::new();
    let plan = &request.header.plan;
    let groups = plan.groups.keys().cloned();
    let gate = Arc::new(Gate::new(Arc::clone(record), groups, request.trials.settled));
    let mut watch = JoinSet::new();
    watch.spawn(Arc::clone(&gate).watch(stop.clone()));
    let limits = request.trials.experiment.limits.or(plan.limits);
    let exceeded = OnceLock::new();
    let (gate, stop, exceeded) = (&gate, &stop, &exceeded);
    let (struck, struck_brokers) = (Mutex::default(), Mutex::default());
    let stop_when = request.trials.experiment.stop_when.as_ref();
    let arena = Arena {
        plan,
        clusters,
        fleet,
        outside: &Outside::default(),
        record,
        mark: &|event| record.note(None, event),
        gate,
        guard,
        limits,
        stop_when,
        stop,
        exceeded,
        struck,
        struck_brokers,
    };
    let play = async |number| play_one(request, &arena, number).await;
    let trials = play_all(request, (plan, record, stop), play);
    let report = |trial| request.report_played(trial);
    tokio::pin!(trials);
    tokio::select! {
        biased;
        early = trouble(request, stage, interrupt) => {
            // The current trial still undoes its faults.
            stop.cancel();
            match trials.await {
                (Outcome::Unhealed, why) => (Outcome::Unhealed, why),
                _ => early,
            }
        }
        ending = &mut trials => {
            stop.cancel();
            costs.report_last(&report).await;
            ending
        }
        never = costs.report(&report) => match never {},
    }
}

/// Returns when something ends the run before its trials are over.
async fn trouble(request: &RunRequest, stage: &Stage, interrupt: &CancellationToken) -> Ending {
    tokio::select! {
        biased;
        // If a broker dies without a fault, the measurement is invalid.
        ending = stage.trouble(interrupt, stage.clusters.lost()) => ending,
        why = request.trials.out_of_time() => (Outcome::Aborted, Some(why)),
    }
}

/// Plays trial after trial, until all are played or one ends the run.
async fn play_all(
    request: &RunRequest,
    (plan, record, stop): (&Plan, &Recorder, &CancellationToken),
    play: impl AsyncFn(TrialNumber) -> Result<(), Ending>,
) -> Ending {
    let trials = &request.trials;
    let mut stopping = Stopping::start(trials.experiment.until.as_ref(), plan, record);
    let rule = request.header.brief.disturbed;
    let mut replacing = Replacing::new(rule, trials.count, record);
    let mut number = TrialNumber(0);
    while let Some(next) = replacing.after(number, stop).await {
        number = next;
        (request.on_milestone)(Milestone::Trial { number, of: replacing.of });
        if let Err(ending) = play(number).await {
            return ending;
        }
        if let Some(stopping) = &mut stopping
            && stopping.is_over_after((number, Mono::now()), &mut replacing, stop).await
        {
            break;
        }
    }
    (Outcome::Completed, None)
}

/// Plays one trial.
///
/// # Errors
/// It ends the run.
async fn play_one(
    request: &RunRequest,
    arena: &Arena<'_>,
    number: TrialNumber,
) -> Result<(), Ending> {
    let trials = &request.trials;
    let schedule = Schedule::draw(&trials.experiment, arena.plan, request.header.seed, number);
    match play(arena, &schedule, number, trials.within).await {
        Ok(Played::Recovered) => Ok(()),
        Ok(Played::Stopped) => Err((Outcome::Aborted, arena.exceeded.get().cloned())),
        Ok(Played::Unhealed(why)) => Err((Outcome::Unhealed, Some(why))),
        Ok(Played::Unrecovered(unsettled)) | Err(unsettled) => {
            Err((Outcome::Broken, Some(format!("trial {number}: {unsettled}"))))
        }
    }
}
