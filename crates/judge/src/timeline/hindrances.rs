//! How long the host kept the instrument or a member from running, by trial.
//!
//! [`worst`] judges a run from all its facts. [`Hindrances`] judges the trials of a running run, at
//! a cost that does not grow with the run. The results differ only if a fact arrives more than half
//! a second late; then that of the report counts.

use std::collections::BTreeMap;
use std::time::Duration;

use super::lateness::{Lateness, Processors};
use super::{Interval, Trial};
use tandem_facts::ids::{Life, TrialNumber};
use tandem_facts::observation::{Fact, RunEvent, What};
use tandem_facts::time::Mono;

/// The number of facts above which complete trials are folded into one number each.
const KEPT: usize = 4_096;
/// All facts about an instant arrive within this time.
const ARRIVAL: Duration = Duration::from_secs(2);

/// The longest time in a trial for which the host kept one thread from running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hindrance {
    /// The life of the thread; none for the controller's canary.
    pub life: Option<Life>,
    /// The part of the delay that the host caused.
    pub imposed: Duration,
    /// The whole delay, from all causes.
    pub late: Duration,
}

/// The worst hindrance of each trial that has any.
#[must_use]
pub fn worst(
    trials: &[Trial],
    lateness: &[Lateness],
    looks: &[Processors],
) -> BTreeMap<TrialNumber, Hindrance> {
    let mut found = BTreeMap::new();
    for late in lateness {
        let first = trials.partition_point(|trial| trial.window.until <= late.span.from);
        let met = trials.iter().skip(first);
        for trial in met.take_while(|trial| trial.window.from < late.span.until) {
            note(&mut found, trial.number, late, late.imposed_within(trial.window, looks));
        }
    }
    found
}

/// Keeps the worse of two. If they are equal, keeps the canary's, otherwise the first member's.
fn note(
    found: &mut BTreeMap<TrialNumber, Hindrance>,
    trial: TrialNumber,
    late: &Lateness,
    imposed: Duration,
) {
    if imposed.is_zero() {
        return;
    }
    let one = Hindrance { life: late.life.clone(), imposed, late: late.span.length() };
    let known = found.entry(trial).or_insert_with(|| one.clone());
    let order = one.imposed.cmp(&known.imposed).then_with(|| known.life.cmp(&one.life));
    if order.is_gt() {
        *known = one;
    }
}

/// The same for a running run.
#[derive(Debug, Clone, Default)]
pub struct Hindrances {
    trial: Option<(TrialNumber, Interval)>,
    lateness: Vec<Lateness>,
    looks: Vec<Processors>,
    found: BTreeMap<TrialNumber, Hindrance>,
}

impl Hindrances {
    /// Takes a fact, in the order of arrival.
    pub fn observe(&mut self, fact: &Fact) {
        if let What::Run(RunEvent::TrialBegan { trial }) = &fact.what {
            self.found = self.found();
            self.lateness.clear();
            self.looks.clear();
            self.trial = Some((*trial, Interval::new(fact.t, Mono(u64::MAX))));
        } else if let What::Run(RunEvent::TrialEnded { .. }) = &fact.what {
            if let Some((_, window)) = &mut self.trial {
                window.until = window.until.min(fact.t);
            }
        } else if self.trial.is_some() {
            self.lateness.extend(Lateness::of(fact));
            self.looks.extend(Processors::of(fact));
            if self.lateness.len() + self.looks.len() > KEPT {
                self.fold(fact.t);
            }
        }
    }

    /// The trials so far in which the host kept a thread from running for longer than `stall`.
    pub fn beyond(&self, stall: Duration) -> impl Iterator<Item = TrialNumber> {
        let found = self.found().into_iter();
        found.filter(move |(_, one)| one.imposed > stall).map(|(trial, _)| trial)
    }

    fn found(&self) -> BTreeMap<TrialNumber, Hindrance> {
        let mut found = self.found.clone();
        if let Some((number, window)) = self.trial {
            for late in &self.lateness {
                note(&mut found, number, late, late.imposed_within(window, &self.looks));
            }
        }
        found
    }

    /// Drops facts that are so old that all facts about their time have arrived.
    fn fold(&mut self, now: Mono) {
        let known = now - ARRIVAL;
        let Some((number, window)) = self.trial else { return };
        for late in self.lateness.iter().filter(|late| late.span.until < known) {
            note(&mut self.found, number, late, late.imposed_within(window, &self.looks));
        }
        self.lateness.retain(|late| late.span.until >= known);
        let from = self.lateness.iter().map(|late| late.span.from).min().unwrap_or(known);
        self.looks.retain(|look| look.span.until >= from.min(known));
        // If there are still too many facts, the oldest are judged by what is known; the report is
        // exact.
        let above = self.lateness.len().saturating_sub(KEPT / 2);
        for late in self.lateness.drain(..above) {
            note(&mut self.found, number, &late, late.imposed_within(window, &self.looks));
        }
    }
}
