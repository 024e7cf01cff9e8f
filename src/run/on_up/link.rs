//! The connection to the supervisor that carries out an experiment: what it says goes to the
//! recorder, and each half a second it learns that this process is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::JoinSet;

use super::Ending;
use crate::controller::Recorder;
use crate::ids::TrialNumber;
use crate::journal::Carry;
use crate::observation::{Fact, Outcome, RunEvent, What};
use crate::run::judging::TRIAL;
use crate::supervision::{Asked, Asks, Message, TrialEnd, Watching};
use crate::time::Mono;

/// How often the supervisor learns that this process is there.
const HERE: Duration = Duration::from_millis(500);
/// How long the supervisor may take to send the facts of the last instants.
const LAST: Duration = Duration::from_secs(5);
/// How many ends of trials may wait; one trial is played at a time.
const TRIALS: usize = 2;

/// The connection. Dropped, it ends the experiment.
pub(super) struct Link {
    asks: Arc<Mutex<Asks>>,
    trials: Mutex<mpsc::Receiver<(TrialNumber, TrialEnd)>>,
    /// Why the experiment must end, if it must.
    over: watch::Receiver<Option<Ending>>,
    /// Until when all facts are recorded.
    passed: watch::Receiver<Mono>,
    /// The number of the controller's latest fact.
    own: Arc<AtomicU64>,
    tasks: JoinSet<()>,
}

impl Link {
    /// Records what the supervisor says from now on.
    pub(super) fn start(watching: Watching, asks: Asks, record: &Arc<Recorder>) -> Self {
        let (ended, trials) = mpsc::channel(TRIALS);
        let (over, is_over) = watch::channel(None);
        let (passed, now) = watch::channel(Mono::ZERO);
        let own = Arc::new(AtomicU64::new(0));
        let mut hearing = Hearing {
            record: Arc::clone(record),
            after: TrialNumber(0),
            past: Some((Carry::default(), Mono::ZERO)),
            trials: Some(ended),
            over,
            passed,
            own: Arc::clone(&own),
        };
        let asks = Arc::new(Mutex::new(asks));
        let beating = Arc::clone(&asks);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let ending = hearing.hear(watching).await;
            hearing.end(ending);
        });
        tasks.spawn(async move {
            // If it cannot be sent, the connection is broken, and the other task notices.
            while beating.lock().await.ask(Asked::Here).await.is_ok() {
                tokio::time::sleep(HERE).await;
            }
        });
        Self { asks, trials: Mutex::new(trials), over: is_over, passed: now, own, tasks }
    }

    /// Asks the supervisor. A connection that is broken is over, and then it has healed all.
    pub(super) async fn ask(&self, asked: Asked) {
        self.asks.lock().await.ask(asked).await.ok();
    }

    /// Has a trial played. Returns how it ended; `None` if the connection has ended.
    pub(super) async fn play(&self, trial: TrialNumber) -> Option<TrialEnd> {
        let mut trials = self.trials.lock().await;
        self.passes(Mono(1)).await;
        self.ask(Asked::Play(trial)).await;
        loop {
            let (ended, end) = trials.recv().await?;
            if ended == trial {
                return Some(end);
            }
        }
    }

    /// Returns when the experiment must end, and how it ends then.
    pub(super) async fn over(&self) -> Ending {
        let mut over = self.over.clone();
        let ending = over.wait_for(Option::is_some).await.ok().and_then(|ending| ending.clone());
        ending.unwrap_or_else(broke_off)
    }

    /// Waits until all facts before `t` are recorded, or no more will come.
    pub(super) async fn passes(&self, t: Mono) {
        let mut passed = self.passed.clone();
        // This fails when no more will come.
        tokio::time::timeout(LAST, passed.wait_for(|now| *now >= t)).await.ok();
    }

    /// Ends the connection, and the record with it.
    pub(super) async fn end(&mut self, record: &Recorder, (how, why): Ending) {
        self.tasks.shutdown().await;
        let t = record.passed().unwrap_or_else(Mono::now);
        let seq = self.own.load(Ordering::SeqCst);
        record.take(Fact { t, seq, life: None, what: What::Run(RunEvent::Ended { how, why }) });
    }
}

fn broke_off() -> Ending {
    let why = "the connection to the supervisor broke off; it heals by itself";
    (Outcome::Broken, Some(why.to_owned()))
}

/// Takes what the supervisor says.
struct Hearing {
    record: Arc<Recorder>,
    /// The trial before the first, in the numbers of the supervisor.
    after: TrialNumber,
    /// How things stood, and the time that the facts say, until all facts so far are read.
    past: Option<(Carry, Mono)>,
    /// `None` once no trial is played any more.
    trials: Option<mpsc::Sender<(TrialNumber, TrialEnd)>>,
    over: watch::Sender<Option<Ending>>,
    passed: watch::Sender<Mono>,
    own: Arc<AtomicU64>,
}

impl Hearing {
    /// Takes all messages. Returns how the experiment ends if nothing has ended it before.
    async fn hear(&mut self, mut watching: Watching) -> Ending {
        loop {
            match watching.next().await {
                Ok(Some(message)) => self.take(message),
                Ok(None) => return broke_off(),
                Err(error) => return (Outcome::Broken, Some(crate::error::chain(&error))),
            }
        }
    }

    /// The experiment must end; the first reason counts.
    fn end(&mut self, ending: Ending) {
        self.trials = None;
        self.over.send_if_modified(|over| {
            let is_first = over.is_none();
            over.get_or_insert(ending);
            is_first
        });
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Accepted { after } => self.after = after,
            Message::Fact(fact) => self.take_fact(fact),
            Message::Caught => self.catch_up(),
            Message::Time(now) => {
                self.record.pass(now);
                self.passed.send_replace(now);
            }
            Message::Missed(facts) => self.miss(facts),
            Message::Trial { trial, end } => {
                // Without a receiver the experiment is ending.
                self.trials.as_ref().map(|trials| trials.try_send((trial, end)));
            }
            Message::Halted { how, why } => self.end((how, Some(why))),
            Message::Stopping | Message::Ended { .. } => {
                self.end((Outcome::Interrupted, Some("what it ran on was ended".to_owned())));
            }
            Message::Journal(_)
            | Message::Log(_)
            | Message::Operation(_)
            | Message::About(_)
            | Message::Replaced { .. }
            // While an experiment is under way, nothing is changed.
            | Message::Changed { .. }
            | Message::Step(_)
            | Message::Applied { .. }
            | Message::Refused(_) => {}
        }
    }

    /// Begins the journal with how things stand.
    fn catch_up(&mut self) {
        let Some((carry, now)) = self.past.take() else { return };
        for fact in carry.facts(now) {
            self.put(fact);
        }
        self.record.pass(now);
    }

    fn take_fact(&mut self, fact: Fact) {
        // What is up is a trial by itself, and not one of the experiment.
        if let What::Run(
            RunEvent::TrialBegan { trial: TRIAL } | RunEvent::TrialEnded { trial: TRIAL, .. },
        ) = fact.what
        {
            return;
        }
        match &mut self.past {
            Some((carry, now)) => {
                *now = (*now).max(fact.t);
                carry.observe(&fact);
            }
            None => {
                let what = own_numbers(fact.what, self.after);
                self.put(Fact { what, ..fact });
            }
        }
    }

    fn put(&self, fact: Fact) {
        if !fact.what.is_by_member() {
            self.own.fetch_max(fact.seq, Ordering::SeqCst);
        }
        self.record.take(fact);
    }

    /// Facts are missing: their time is unknown.
    fn miss(&self, facts: u64) {
        if self.past.is_some() {
            return;
        }
        let (from, until) = (*self.passed.borrow(), Mono::now());
        let seq = self.own.load(Ordering::SeqCst);
        let what = What::Run(RunEvent::Unwritten { from, until, facts });
        self.put(Fact { t: until, seq, life: None, what });
        self.record.fold().miss(facts);
    }
}

/// The same fact, with the experiment's own numbers of trials, which begin at 1.
fn own_numbers(mut what: What, after: TrialNumber) -> What {
    let own = |trial: &mut TrialNumber| trial.0 = trial.0.saturating_sub(after.0);
    if let What::Run(RunEvent::TrialBegan { trial } | RunEvent::TrialEnded { trial, .. }) =
        &mut what
    {
        own(trial);
    } else if let What::Run(
        RunEvent::FaultAsked { fault, .. }
        | RunEvent::FaultInForce { fault }
        | RunEvent::FaultHealed { fault }
        | RunEvent::Reconnected { fault, .. }
        | RunEvent::FaultFailed { fault, .. }
        | RunEvent::Struck { fault, .. },
    ) = &mut what
    {
        own(&mut fault.trial);
    }
    what
}
