//! A whole experiment on one page: start, disturb and observe, heal, stop, judge.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info_span};

use crate::chaos::{Arena, Played, Schedule, play};
use crate::controller::{Canary, Clusters, Fleet, Gate, Provisioned, Record, provision};
use crate::guard::{Guard, GuardError};
use crate::ids::TrialNumber;
use crate::journal::Journal;
use crate::observation::{Outcome, What};
use crate::telemetry::names;
use crate::timeline::Standing;

mod ending;
mod error;
mod order;

use ending::{Ending, unguarded, unhealed, without_guard};
pub use error::RunError;
pub use order::{Milestone, Order, TrialPlan};

/// How long an interrupted run waits for topics that are being made.
const HASTE: Duration = Duration::from_secs(2);

/// Runs an experiment; its journal is then in the order's folder, and everything it started is
/// gone.
///
/// # Errors
/// It could not begin. Whatever happens after the members were started is in the journal.
pub async fn run(order: &Order, interrupt: &CancellationToken) -> Result<(), RunError> {
    let logs = order.prepare_folder()?;
    let plan = &order.header.plan;
    let stage = set(order, &logs, interrupt).await.inspect_err(|_| order.sweep())?;
    let Stage { record, guard, clusters, topics, canary } = stage;
    let fleet = Fleet::start(plan, &clusters, &order.program, &logs, &guard, &record);
    let ending = disturb(order, &fleet, &clusters, &guard, &record, interrupt).await;
    let mut ending = without_guard(ending, &guard).await;

    (order.tell)(Milestone::Stopping);
    fleet.stop().await;
    drop(canary);
    if !order.keep
        && let Err(error) = topics.remove().await
    {
        ending = unhealed(ending, &error);
    }
    clusters.stop().await;
    if let Some(guard) = Arc::into_inner(guard)
        && let Err(error) = guard.free()
    {
        ending = unhealed(ending, &error);
    }
    let (how, why) = ending;
    record.note(None, What::Ended { how, why });
    Ok(())
}

/// All that must stand before a member may start.
struct Stage {
    record: Arc<Record>,
    guard: Arc<Guard>,
    clusters: Clusters,
    topics: Provisioned,
    canary: Canary,
}

/// Sets the stage. An error leaves nothing standing.
async fn set(order: &Order, logs: &Path, interrupt: &CancellationToken) -> Result<Stage, RunError> {
    let plan = &order.header.plan;
    let journal = Journal::create(&order.journal(), &order.header)?;
    let record = Arc::new(Record::new(journal, Standing::new(plan)));
    (order.show)(&record);
    let guard = Arc::new(Guard::start(&order.program, &order.guarded())?);
    (order.tell)(Milestone::Starting);
    let canary = Canary::start(Arc::clone(&record)).map_err(RunError::Canary)?;
    let clusters = Clusters::start(plan, &order.program, logs, &guard, &record);
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
    Ok(Stage { record, guard, clusters, topics, canary })
}

/// Plays all trials while watching for what must end them early.
async fn disturb(
    order: &Order,
    fleet: &Fleet,
    clusters: &Clusters,
    guard: &Guard,
    record: &Arc<Record>,
    interrupt: &CancellationToken,
) -> Ending {
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
    tokio::pin!(trials);
    tokio::select! {
        biased;
        early = trouble(order, clusters, guard, record, interrupt) => {
            // Ended early, yet healed: the trial under way undoes what it did.
            stop.cancel();
            match trials.await {
                (Outcome::Unhealed, why) => (Outcome::Unhealed, why),
                _ => early,
            }
        }
        ending = &mut trials => {
            stop.cancel();
            ending
        }
    }
}

/// What ends a run before its trials do.
async fn trouble(
    order: &Order,
    clusters: &Clusters,
    guard: &Guard,
    record: &Record,
    interrupt: &CancellationToken,
) -> Ending {
    let broken = |why: &str| (Outcome::Broken, Some(why.to_owned()));
    tokio::select! {
        biased;
        () = interrupt.cancelled() => (Outcome::Interrupted, None),
        () = record.broken().cancelled() => {
            let why = record.failure().map(|failure| crate::error::chain(&failure));
            (Outcome::Broken, why)
        }
        why = clusters.lost() => broken(why),
        loss = unguarded(guard) => broken(&loss.to_string()),
        why = order.trials.out_of_time() => (Outcome::Aborted, Some(why)),
    }
}

async fn play_all(order: &Order, arena: &Arena<'_>) -> Ending {
    let trials = &order.trials;
    for number in (1..=trials.count).map(TrialNumber) {
        (order.tell)(Milestone::Trial { number, of: trials.count });
        let schedule = Schedule::draw(&trials.experiment, arena.plan, order.header.seed, number);
        match play(arena, &schedule, number, trials.within).await {
            Ok(Played::Recovered) => {}
            Ok(Played::Stopped) => return (Outcome::Aborted, arena.exceeded.get().cloned()),
            Ok(Played::Unhealed(why)) => return (Outcome::Unhealed, Some(why)),
            Ok(Played::Unrecovered(unsettled)) | Err(unsettled) => {
                return (Outcome::Broken, Some(format!("trial {number}: {unsettled}")));
            }
        }
    }
    (Outcome::Completed, None)
}
