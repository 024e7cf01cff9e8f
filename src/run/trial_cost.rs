//! The faults of each trial and their cost, reported while the run goes on. They come from the
//! live fold; the report does not use them.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::controller::Recorder;
use crate::fold::Heard;
use crate::ids::{GroupName, TrialNumber};
use crate::live::{Event, Live};
use crate::observation::{Fact, RunEvent, What};
use crate::time::Mono;

/// How often trials are checked for being final.
const LOOK: Duration = Duration::from_millis(50);
/// A trial is reported when the watch is final up to this long after its end.
const AFTER: Duration = Duration::from_millis(100);
/// The longest wait for the last trial. It is final within two thirds of a second, unless a member
/// is silent.
const LAST: Duration = Duration::from_secs(1);
/// How many victims a line names.
const NAMED_MAX: usize = 3;

/// The faults of one trial, and the gaps they caused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialCost {
    /// The trial's number.
    pub number: TrialNumber,
    /// Each fault in order of injection, as in `kill`, with its victims.
    pub hits: Vec<(String, Vec<String>)>,
    /// Faults that could not be injected, with the reasons.
    pub failed: Vec<String>,
    /// The longest gap of each group with a gap.
    pub gaps: BTreeMap<GroupName, Duration>,
    /// The longest joint gap, if there was one.
    pub joint: Option<Duration>,
    began: Mono,
    ended: Option<Mono>,
}

/// The trials that are not reported yet.
#[derive(Default)]
struct Trials(Vec<TrialCost>);

/// Follows a run.
pub(super) struct TrialCosts {
    record: Arc<Recorder>,
    trials: Arc<Mutex<Trials>>,
}

impl TrialCosts {
    /// Follows every fact from now on.
    pub(super) fn follow(record: &Arc<Recorder>) -> Self {
        let trials = Arc::<Mutex<Trials>>::default();
        let heard = Arc::clone(&trials);
        record.fold().listen(Box::new(move |_, what| match what {
            Heard::Fact(fact) => lock(&heard).hear(fact),
            Heard::Event(event) => lock(&heard).fold(event),
            // The journal has the missed facts, and the fold marks their time as unknown.
            Heard::Missed(_) => {}
        }));
        Self { record: Arc::clone(record), trials }
    }

    /// Reports each trial when it is final. Cancel safe: no trial is lost.
    pub(super) async fn report(&self, report: &(dyn Fn(TrialCost) + Send + Sync)) -> Infallible {
        loop {
            self.advance(report).await;
        }
    }

    /// Called when the trials are over and the members still run: reports the remaining trials as
    /// they become final, within a bound.
    pub(super) async fn report_last(&self, report: &(dyn Fn(TrialCost) + Send + Sync)) {
        let last = async {
            while !lock(&self.trials).0.is_empty() {
                self.advance(report).await;
            }
        };
        // `finish` reports the trials that are not final by then.
        tokio::time::timeout(LAST, last).await.ok();
    }

    /// Waits briefly, and reports each trial that is final then.
    async fn advance(&self, report: &(dyn Fn(TrialCost) + Send + Sync)) {
        tokio::time::sleep(LOOK).await;
        let settled = self.record.look(Live::settled);
        self.report_where(report, |trial| trial.ended.is_some_and(|it| it + AFTER <= settled));
    }

    /// Called when the trials are over: what members do from `at` on does not count.
    pub(super) fn end(&self, at: Mono) {
        self.record.fold().end(at);
    }

    /// Called when no more facts will come: reports the remaining trials.
    pub(super) fn finish(self, report: &(dyn Fn(TrialCost) + Send + Sync)) {
        self.record.fold().finish(Mono::now());
        self.report_where(report, |_| true);
    }

    fn report_where(
        &self,
        report: &(dyn Fn(TrialCost) + Send + Sync),
        is_final: impl Fn(&TrialCost) -> bool,
    ) {
        let mut trials = lock(&self.trials);
        let reported: Vec<_> = trials.0.extract_if(.., |trial| is_final(trial)).collect();
        drop(trials);
        reported.into_iter().for_each(report);
    }
}

fn lock(trials: &Mutex<Trials>) -> MutexGuard<'_, Trials> {
    trials.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Trials {
    fn hear(&mut self, fact: &Fact) {
        if let What::Run(RunEvent::TrialBegan { trial }) = &fact.what {
            self.0.push(TrialCost::begun(*trial, fact.t));
        } else if let What::Run(RunEvent::TrialEnded { trial, .. }) = &fact.what
            && let Some(trial) = self.trial(*trial)
        {
            trial.ended = Some(fact.t);
        } else if let What::Run(RunEvent::FaultAsked { fault, kind, cluster, .. }) = &fact.what {
            let member = fact.life.as_ref().map(|life| life.member.to_string());
            let broker = || cluster.as_ref().map(|name| format!("the broker of {name}"));
            if let Some((trial, victim)) = self.trial(fault.trial).zip(member.or_else(broker)) {
                trial.hit(kind, victim);
            }
        } else if let What::Run(RunEvent::FaultFailed { fault, kind, why, .. }) = &fact.what
            && let Some(trial) = self.trial(fault.trial)
        {
            trial.failed.push(format!("{kind} failed: {why}"));
        }
    }

    fn trial(&mut self, number: TrialNumber) -> Option<&mut TrialCost> {
        self.0.iter_mut().find(|trial| trial.number == number)
    }

    fn fold(&mut self, event: &Event) {
        let Event::Gap(place, span, _) = event else { return };
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

    fn hit(&mut self, kind: &str, victim: String) {
        match self.hits.last_mut().filter(|(last, _)| last == kind) {
            Some((_, victims)) => victims.push(victim),
            None => self.hits.push((kind.to_owned(), vec![victim])),
        }
    }
}

/// One line, as in `kill p1-2: gap 1043 ms in p1, no joint gap`.
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
        let done =
            if done.is_empty() { "no fault was injected".to_owned() } else { done.join("; ") };
        // Rounded as in the table of the report.
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
