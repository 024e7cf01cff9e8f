//! What each trial did to whom, and what it cost, told while the run goes on: from the final view
//! of the live fold, which the report does not use.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::controller::Record;
use crate::fold::Heard;
use crate::ids::{GroupName, TrialNumber};
use crate::live::{Event, Live};
use crate::observation::{Fact, What};
use crate::time::Mono;

/// How often it is looked whether a trial is final.
const LOOK: Duration = Duration::from_millis(50);
/// A trial is told when everything is final up to so long after its end.
const AFTER: Duration = Duration::from_millis(100);
/// The last trial is final within two thirds of a second, unless a member is silent.
const LAST: Duration = Duration::from_secs(1);
/// So many victims are named.
const NAMED_MAX: usize = 3;

/// What one trial did and cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialCost {
    /// Which trial.
    pub number: TrialNumber,
    /// Who was struck by what, in the order of the strikes: `kill`, and the victims.
    pub hits: Vec<(String, Vec<String>)>,
    /// What could not be done, and why.
    pub failed: Vec<String>,
    /// The longest gap of each group that had one.
    pub gaps: BTreeMap<GroupName, Duration>,
    /// The longest joint gap, if there was one.
    pub joint: Option<Duration>,
    began: Mono,
    ended: Option<Mono>,
}

/// The trials that are not told yet.
#[derive(Default)]
struct Trials(Vec<TrialCost>);

/// Follows a run.
pub(super) struct TrialCosts {
    record: Arc<Record>,
    trials: Arc<Mutex<Trials>>,
}

impl TrialCosts {
    /// Hears everything from now on.
    pub(super) fn follow(record: &Arc<Record>) -> Self {
        let trials = Arc::<Mutex<Trials>>::default();
        let heard = Arc::clone(&trials);
        record.fold().listen(Box::new(move |_, what| match what {
            Heard::Fact(fact) => lock(&heard).hear(fact),
            Heard::Event(event) => lock(&heard).fold(event),
            // The journal has what was missed; a fold that misses facts is unsure of them.
            Heard::Missed(_) => {}
        }));
        Self { record: Arc::clone(record), trials }
    }

    /// Tells each trial when it is final. Cancelled, it has lost nothing.
    pub(super) async fn tell(&self, tell: &(dyn Fn(TrialCost) + Send + Sync)) -> Infallible {
        loop {
            self.advance(tell).await;
        }
    }

    /// The trials are over, and all lives on: tells those that are left once they are final, if
    /// that is soon.
    pub(super) async fn tell_last(&self, tell: &(dyn Fn(TrialCost) + Send + Sync)) {
        let last = async {
            while !lock(&self.trials).0.is_empty() {
                self.advance(tell).await;
            }
        };
        // Trials that are not final then are reported when all is stopped.
        tokio::time::timeout(LAST, last).await.ok();
    }

    /// Waits a little, and tells each trial that is final then.
    async fn advance(&self, tell: &(dyn Fn(TrialCost) + Send + Sync)) {
        tokio::time::sleep(LOOK).await;
        let settled = self.record.look(Live::settled);
        self.tell_where(tell, |trial| trial.ended.is_some_and(|it| it + AFTER <= settled));
    }

    /// The trials are over: what members do from here on is no part of them.
    pub(super) fn end(&self, at: Mono) {
        self.record.fold().end(at);
    }

    /// The run is over: tells the trials that are left.
    pub(super) fn finish(self, tell: &(dyn Fn(TrialCost) + Send + Sync)) {
        self.record.fold().finish(Mono::now());
        self.tell_where(tell, |_| true);
    }

    fn tell_where(
        &self,
        tell: &(dyn Fn(TrialCost) + Send + Sync),
        is_final: impl Fn(&TrialCost) -> bool,
    ) {
        let told: Vec<_> = lock(&self.trials).0.extract_if(.., |trial| is_final(trial)).collect();
        told.into_iter().for_each(tell);
    }
}

fn lock(trials: &Mutex<Trials>) -> MutexGuard<'_, Trials> {
    trials.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Trials {
    fn hear(&mut self, fact: &Fact) {
        if let What::TrialBegan { trial } = &fact.what {
            self.0.push(TrialCost::begun(*trial, fact.t));
        } else if let What::TrialEnded { trial, .. } = &fact.what
            && let Some(trial) = self.trial(*trial)
        {
            trial.ended = Some(fact.t);
        } else if let What::FaultAsked { fault, kind, cluster, .. } = &fact.what {
            let member = fact.life.as_ref().map(|life| life.member.to_string());
            let broker = || cluster.as_ref().map(|name| format!("the broker of {name}"));
            if let Some((trial, whom)) = self.trial(fault.trial).zip(member.or_else(broker)) {
                trial.hit(kind, whom);
            }
        } else if let What::FaultFailed { fault, kind, why, .. } = &fact.what
            && let Some(trial) = self.trial(fault.trial)
        {
            trial.failed.push(format!("{kind} failed: {why}"));
        }
    }

    fn trial(&mut self, number: TrialNumber) -> Option<&mut TrialCost> {
        self.0.iter_mut().find(|trial| trial.number == number)
    }

    fn fold(&mut self, event: &Event) {
        let Event::Gap(place, span) = event else { return };
        let mut trials = self.0.iter_mut().rev();
        let Some(trial) = trials.find(|trial| trial.began <= span.from) else { return };
        let longest = match &place.group {
            Some(group) => trial.gaps.entry(group.clone()).or_default(),
            None => trial.joint.get_or_insert_default(),
        };
        *longest = (*longest).max(span.length());
    }
}

impl TrialCost {
    fn begun(number: TrialNumber, began: Mono) -> Self {
        let (hits, failed, gaps) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { number, hits, failed, gaps, joint: None, began, ended: None }
    }

    fn hit(&mut self, kind: &str, whom: String) {
        match self.hits.last_mut().filter(|(last, _)| last == kind) {
            Some((_, victims)) => victims.push(whom),
            None => self.hits.push((kind.to_owned(), vec![whom])),
        }
    }
}

/// What was done to whom, and what it cost: `kill p1-2: gap 1043 ms in p1, no joint gap`.
impl fmt::Display for TrialCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hit = |(kind, victims): &(String, Vec<String>)| {
            let named: Vec<&str> = victims.iter().take(NAMED_MAX).map(String::as_str).collect();
            let more = match victims.len().saturating_sub(NAMED_MAX) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{kind} {}{more}", named.join(", "))
        };
        let done: Vec<String> =
            self.hits.iter().map(hit).chain(self.failed.iter().cloned()).collect();
        let done = if done.is_empty() { "nobody was struck".to_owned() } else { done.join("; ") };
        // As the table of the report rounds it.
        let ms = |length: &Duration| format!("{:.0}", length.as_secs_f64() * 1e3);
        let gaps = self.gaps.iter().map(|(group, gap)| format!("{} ms in {group}", ms(gap)));
        let gaps = match gaps.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "no gap".to_owned(),
            some => format!("gap {some}"),
        };
        match &self.joint {
            Some(joint) => write!(f, "{done}: {gaps}, joint gap {} ms", ms(joint)),
            None if self.gaps.is_empty() => write!(f, "{done}: {gaps}"),
            None => write!(f, "{done}: {gaps}, no joint gap"),
        }
    }
}
