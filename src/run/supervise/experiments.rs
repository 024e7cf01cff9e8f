//! The experiment that a client has ordered: one at a time, carried out on what is up, trial by
//! trial. Its faults are healed when the client, or its word, is gone.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::chaos::{
    Allowed, Arena, Experiment, Permission, Played, Schedule, play, read_on, with_outside,
};
use crate::controller::{Fleet, Gate, LOOK_CLOSELY, LOOK_NOW_AND_THEN, Outside, Unsettled};
use crate::ids::TrialNumber;
use crate::observation::Outcome;
use crate::run::judging::TRIAL;
use crate::run::request::TrialPlan;
use crate::run::stage::Stage;
use crate::supervision::{LEASE, Message, Order, TrialEnd, Underway};
use crate::time::Mono;
use crate::topology::Plan;

/// How many messages to a client may wait: one a trial, and the last.
const SAYS: usize = 4;
/// How often to check whether the client is there, and the guard.
const LOOK: Duration = Duration::from_millis(50);

/// The experiments of a supervisor.
pub(super) struct Experiments {
    underway: watch::Sender<Option<Known>>,
    /// The number of the last trial so far, in all facts. The first is that of what is up.
    trials: Arc<AtomicU32>,
    sessions: mpsc::Sender<Session>,
    coming: Mutex<Option<mpsc::Receiver<Session>>>,
    /// The members that Tandem did not start.
    pub(super) outside: Arc<Outside>,
}

/// What is known of the experiment that is under way.
struct Known {
    what: Underway,
    halts: CancellationToken,
}

/// The client's end of an experiment. Dropped, it ends the experiment.
pub(super) struct Client {
    /// The number of the trial before the first.
    pub(super) after: TrialNumber,
    asks: mpsc::Sender<TrialNumber>,
    says: mpsc::Receiver<Message>,
    heard: Arc<AtomicU64>,
    /// `None` once it is stopped.
    stop: Option<DropGuard>,
}

/// The experiment's end.
struct Session {
    experiment: Experiment,
    plan: Plan,
    seed: u64,
    after: TrialNumber,
    /// The number of the last trial, in all facts.
    trials: Arc<AtomicU32>,
    asks: mpsc::Receiver<TrialNumber>,
    says: mpsc::Sender<Message>,
    /// When the client last said something; the end of all time, until it has all facts so far.
    heard: Arc<AtomicU64>,
    halts: CancellationToken,
    stop: CancellationToken,
    /// Freed when all is healed.
    place: Place,
}

/// The place of the experiment that is under way.
struct Place(watch::Sender<Option<Known>>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.send_replace(None);
    }
}

impl Default for Experiments {
    fn default() -> Self {
        let (sessions, coming) = mpsc::channel(1);
        let trials = Arc::new(AtomicU32::new(TRIAL.0));
        let coming = Mutex::new(Some(coming));
        let (underway, outside) = (watch::Sender::default(), Arc::default());
        Self { underway, trials, sessions, coming, outside }
    }
}

impl Experiments {
    /// The experiment that is under way.
    pub(super) fn underway(&self) -> Option<Underway> {
        self.underway.borrow().as_ref().map(|known| known.what.clone())
    }

    /// Accepts an experiment on what is up as `plan`.
    ///
    /// # Errors
    /// It does not fit, or another is under way.
    pub(super) fn order(&self, order: Order, plan: &Plan) -> Result<Client, String> {
        let Order { run, pid, experiment, seed, exec } = order;
        let allowed = Allowed::by(&[(exec, Permission::Exec)]);
        let plan = with_outside(plan, &self.outside.living());
        let (experiment, plan) = read_on(&experiment, &plan, &allowed).map_err(|problems| {
            let problems = problems.into_iter().map(|problem| problem.message);
            problems.collect::<Vec<_>>().join("; ")
        })?;
        let (halts, stop) = (CancellationToken::new(), CancellationToken::new());
        let mut other = None;
        self.underway.send_if_modified(|known| {
            other = known.as_ref().map(|known| known.what.clone());
            if other.is_none() {
                *known = Some(Known { what: Underway { run, pid }, halts: halts.clone() });
            }
            other.is_none()
        });
        if let Some(Underway { run, pid }) = other {
            return Err(format!("{run}, process {pid}, is under way on it; `tandem halt` ends it"));
        }
        let place = Place(self.underway.clone());
        let (asks, asked) = mpsc::channel(1);
        let (says, said) = mpsc::channel(SAYS);
        let heard = Arc::new(AtomicU64::new(u64::MAX));
        // The one before has ended, and plays no more.
        let after = TrialNumber(self.trials.load(Ordering::SeqCst));
        let session = Session {
            experiment,
            plan,
            seed,
            after,
            trials: Arc::clone(&self.trials),
            asks: asked,
            says,
            heard: Arc::clone(&heard),
            halts,
            stop: stop.clone(),
            place,
        };
        let ending = |_| "it is ending".to_owned();
        self.sessions.try_send(session).map_err(ending)?;
        Ok(Client { after, asks, says: said, heard, stop: Some(stop.drop_guard()) })
    }

    /// Has the experiment that is under way healed and ended. Returns what it was.
    pub(super) async fn halt(&self) -> Option<Underway> {
        let what = {
            let known = self.underway.borrow();
            let known = known.as_ref()?;
            known.halts.cancel();
            known.what.clone()
        };
        let mut underway = self.underway.subscribe();
        // This fails only when `self.underway` is dropped, which cannot happen here.
        underway.wait_for(|known| known.as_ref().is_none_or(|known| known.what != what)).await.ok();
        Some(what)
    }

    /// Carries out each experiment, until what is up `ends`; then the one that is under way is
    /// healed.
    pub(super) async fn carry_out(&self, stage: &Stage, fleet: &Fleet, ends: &CancellationToken) {
        let coming = self.coming.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut coming) = coming else { return };
        loop {
            let session = tokio::select! {
                biased;
                () = ends.cancelled() => return,
                session = coming.recv() => session,
            };
            let Some(session) = session else { return };
            tracing::info!(experiment = session.experiment.name, "An experiment begins.");
            fleet.look_each(LOOK_CLOSELY);
            session.carry_out(stage, (fleet, &self.outside), ends).await;
            self.outside.release();
            fleet.look_each(LOOK_NOW_AND_THEN);
        }
    }
}

impl Client {
    /// The client asks for a trial.
    ///
    /// # Errors
    /// One is asked for already.
    pub(super) fn play(&self, trial: TrialNumber) -> Result<(), String> {
        self.asks.try_send(trial).map_err(|_| "a trial is under way".to_owned())
    }

    /// The client is there.
    pub(super) fn hear(&self) {
        self.heard.store(Mono::now().0, Ordering::SeqCst);
    }

    /// Heals the faults, and plays no more.
    pub(super) fn stop(&mut self) {
        self.stop = None;
    }

    /// What is said to the client next; `None` after the last.
    pub(super) async fn says(&mut self) -> Option<Message> {
        self.says.recv().await
    }
}

impl Session {
    async fn carry_out(
        self,
        stage: &Stage,
        (fleet, outside): (&Fleet, &Outside),
        ends: &CancellationToken,
    ) {
        let Self { experiment, plan, seed, mut asks, says, heard, halts, stop, place, .. } = self;
        let record = &stage.record;
        let settled = experiment.steady.settled.get();
        let gate = Gate::new(Arc::clone(record), plan.groups.keys().cloned(), settled);
        let gate = Arc::new(gate);
        let mut watch = JoinSet::new();
        watch.spawn(Arc::clone(&gate).watch(stop.clone()));
        let exceeded = OnceLock::new();
        let arena = Arena {
            plan: &plan,
            clusters: &stage.clusters,
            fleet,
            outside,
            record,
            mark: &|event| record.announce(event),
            gate: &gate,
            guard: &stage.guard,
            limits: experiment.limits,
            stop_when: experiment.stop_when.as_ref(),
            stop: &stop,
            exceeded: &exceeded,
            struck: Mutex::default(),
            struck_brokers: Mutex::default(),
        };
        let within = TrialPlan::within(&experiment, &plan);
        let trials = async {
            while let Some(trial) = next(&mut asks, &stop).await {
                let schedule = Schedule::draw(&experiment, &plan, seed, trial);
                let number = TrialNumber(self.after.0.saturating_add(trial.0));
                self.trials.fetch_max(number.0, Ordering::SeqCst);
                let played = play(&arena, &schedule, number, within).await;
                let end = ended(played, exceeded.get());
                if let TrialEnd::Unhealed(why) = &end {
                    tracing::error!(why, "A fault of an experiment is not healed.");
                }
                // A client that is gone needs to know nothing.
                says.try_send(Message::Trial { trial, end }).ok();
            }
        };
        tokio::pin!(trials);
        let over = tokio::select! {
            biased;
            over = must_end(stage, &heard, &halts, ends) => {
                // The trial that is under way still heals its faults.
                stop.cancel();
                trials.await;
                over
            }
            () = &mut trials => match exceeded.get() {
                Some(why) => (Outcome::Aborted, why.clone()),
                None => (Outcome::Interrupted, "it was stopped".to_owned()),
            },
        };
        says.try_send(Message::Halted { how: over.0, why: over.1 }).ok();
        tracing::info!(experiment = experiment.name, "An experiment ended, and is healed.");
        // A later one finds nothing of this one.
        watch.shutdown().await;
        drop(place);
    }
}

async fn next(
    asks: &mut mpsc::Receiver<TrialNumber>,
    stop: &CancellationToken,
) -> Option<TrialNumber> {
    tokio::select! {
        biased;
        () = stop.cancelled() => None,
        trial = asks.recv() => trial,
    }
}

fn ended(played: Result<Played, Unsettled>, exceeded: Option<&String>) -> TrialEnd {
    match played {
        Ok(Played::Recovered) => TrialEnd::Recovered,
        Ok(Played::Stopped) => TrialEnd::Stopped(exceeded.cloned()),
        Ok(Played::Unhealed(why)) => TrialEnd::Unhealed(why),
        Ok(Played::Unrecovered(unsettled)) | Err(unsettled) => {
            TrialEnd::Unrecovered(unsettled.to_string())
        }
    }
}

/// Returns when the experiment must end although its client has not said so: how, and why.
async fn must_end(
    stage: &Stage,
    heard: &AtomicU64,
    halts: &CancellationToken,
    ends: &CancellationToken,
) -> (Outcome, String) {
    let guard = stage.guard.pid();
    let interrupted = |why: String| (Outcome::Interrupted, why);
    loop {
        tokio::select! {
            biased;
            () = ends.cancelled() => return interrupted("what is up ends".to_owned()),
            () = halts.cancelled() => return interrupted("`tandem halt` ended it".to_owned()),
            () = tokio::time::sleep(LOOK) => {}
        }
        let silent = Mono::now().since(Mono(heard.load(Ordering::SeqCst)));
        if silent >= LEASE {
            let why = format!("the process that ordered it said nothing for {silent:.0?}");
            return interrupted(why);
        }
        // The next guard does not know what this one had promised to undo.
        if !stage.guard.lives() || stage.guard.pid() != guard {
            return (Outcome::Broken, "the guard was lost".to_owned());
        }
    }
}
