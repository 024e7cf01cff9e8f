//! A whole experiment on one page: start, disturb and observe, heal, stop, judge.

use std::sync::{Arc, Mutex, OnceLock};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::chaos::{Arena, Played, Schedule, play};
use crate::controller::{Fleet, Gate, Record};
use crate::ids::TrialNumber;
use crate::journal::Journal;
use crate::live::Live;
use crate::observation::Outcome;
use crate::time::Mono;

mod ending;
mod error;
mod order;
mod pulse;
mod replacing;
mod stage;
mod stopping;
mod trial_cost;
mod up;

use ending::Ending;
pub use error::RunError;
pub use order::{Milestone, Order, Show, Tell, TrialPlan};
use pulse::pulsed;
use replacing::Replacing;
use stage::Stage;
use stopping::Stopping;
pub use trial_cost::TrialCost;
use trial_cost::TrialCosts;
pub use up::{Ended, Service, Upkeep, keep_up};

/// Runs an experiment; its journal is then in the order's folder, and everything it started is
/// gone.
///
/// # Errors
/// It could not begin. Whatever happens after the members were started is in the journal.
pub async fn run(order: &Order, interrupt: &CancellationToken) -> Result<(), RunError> {
    let scene = order.scene();
    let logs = scene.prepare_folder()?;
    let set = async {
        let journal = Journal::create(&order.journal(), &order.header)?;
        let record = Record::new(journal, Live::new(&order.header.plan));
        let record = record.map_err(RunError::Thread)?;
        let record = Arc::new(record);
        (order.show)(&record);
        Stage::set(&scene, &logs, record, interrupt).await
    };
    let stage = set.await.inspect_err(|_| scene.sweep())?;
    let costs = TrialCosts::follow(&stage.record);
    let fleet = stage.fleet(&scene, &logs);
    let disturbed = disturb(order, &stage, &fleet, &costs, interrupt);
    let ending = pulsed(&stage.guard, disturbed).await;
    costs.end(Mono::now());
    let record = Arc::clone(&stage.record);
    stage.strike(&scene, fleet, ending).await;
    // By now members have said all of the last trial.
    costs.finish(&|trial| order.tell_played(trial));
    Ok(record.flush().await?)
}

/// Plays all trials while watching for what must end them early.
async fn disturb(
    order: &Order,
    stage: &Stage,
    fleet: &Fleet,
    costs: &TrialCosts,
    interrupt: &CancellationToken,
) -> Ending {
    let Stage { clusters, guard, record, .. } = stage;
    let stop = CancellationToken::new();
    let plan = &order.header.plan;
    let groups = plan.groups.keys().cloned();
    let gate = Arc::new(Gate::new(Arc::clone(record), groups, order.trials.settled));
    let mut watch = JoinSet::new();
    watch.spawn(Arc::clone(&gate).watch(stop.clone()));
    let limits = order.trials.experiment.limits.or(plan.limits);
    let exceeded = OnceLock::new();
    let (gate, stop, exceeded) = (&gate, &stop, &exceeded);
    let (struck, struck_brokers) = (Mutex::default(), Mutex::default());
    let stop_when = order.trials.experiment.stop_when.as_ref();
    let arena = Arena {
        plan,
        clusters,
        fleet,
        record,
        gate,
        guard,
        limits,
        stop_when,
        stop,
        exceeded,
        struck,
        struck_brokers,
    };
    let trials = play_all(order, &arena);
    let tell = |trial| order.tell_played(trial);
    tokio::pin!(trials);
    tokio::select! {
        biased;
        early = trouble(order, stage, interrupt) => {
            // Ended early, yet healed: the trial under way undoes what it did.
            stop.cancel();
            match trials.await {
                (Outcome::Unhealed, why) => (Outcome::Unhealed, why),
                _ => early,
            }
        }
        ending = &mut trials => {
            stop.cancel();
            costs.tell_last(&tell).await;
            ending
        }
        never = costs.tell(&tell) => match never {},
    }
}

/// What ends a run before its trials do.
async fn trouble(order: &Order, stage: &Stage, interrupt: &CancellationToken) -> Ending {
    tokio::select! {
        biased;
        // A broker that nobody struck and that died is no part of what is measured.
        ending = stage.trouble(interrupt, stage.clusters.lost()) => ending,
        why = order.trials.out_of_time() => (Outcome::Aborted, Some(why)),
    }
}

async fn play_all(order: &Order, arena: &Arena<'_>) -> Ending {
    let trials = &order.trials;
    let until = trials.experiment.until.as_ref();
    let mut stopping = Stopping::start(until, arena.plan, arena.record);
    let rule = order.header.brief.disturbed;
    let mut replacing = Replacing::new(rule, trials.count, arena.record);
    let mut number = TrialNumber(0);
    while let Some(next) = replacing.after(number, arena.stop).await {
        number = next;
        (order.tell)(Milestone::Trial { number, of: replacing.of });
        let schedule = Schedule::draw(&trials.experiment, arena.plan, order.header.seed, number);
        match play(arena, &schedule, number, trials.within).await {
            Ok(Played::Recovered) => {
                if let Some(stopping) = &mut stopping
                    && stopping
                        .is_over_after((number, Mono::now()), &mut replacing, arena.stop)
                        .await
                {
                    break;
                }
            }
            Ok(Played::Stopped) => return (Outcome::Aborted, arena.exceeded.get().cloned()),
            Ok(Played::Unhealed(why)) => return (Outcome::Unhealed, Some(why)),
            Ok(Played::Unrecovered(unsettled)) | Err(unsettled) => {
                return (Outcome::Broken, Some(format!("trial {number}: {unsettled}")));
            }
        }
    }
    (Outcome::Completed, None)
}
