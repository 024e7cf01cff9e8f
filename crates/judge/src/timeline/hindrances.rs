//! For how long the host kept the instrument or a member from running, trial by trial.
//!
//! [`worst`] judges a run from all its facts, [`Hindrances`] the trials of one that goes on, at a
//! cost that does not grow with the run. They differ only where a fact comes later than half a
//! second, and then it is the report that counts.

use std::collections::BTreeMap;
use std::time::Duration;

use super::lateness::{Lateness, Processors};
use super::{Interval, Trial};
use tandem_facts::ids::{Life, TrialNumber};
use tandem_facts::observation::{Fact, What};
use tandem_facts::time::Mono;

/// So many facts are kept before those that are known in full are folded into one number.
const KEPT: usize = 4_096;
/// All that concerns an instant is told within this.
const TOLD: Duration = Duration::from_secs(2);

/// The longest time in a trial for which the host kept a thread from running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hindrance {
    /// Whose thread; nothing for the controller's canary.
    pub whom: Option<Life>,
    /// For how long the host is to blame.
    pub imposed: Duration,
    /// How late the thread was, whoever is to blame.
    pub late: Duration,
}

/// The worst of each trial that has any.
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

/// Of two that are as long, the canary's, or else the first member's, is told.
fn note(
    found: &mut BTreeMap<TrialNumber, Hindrance>,
    trial: TrialNumber,
    late: &Lateness,
    imposed: Duration,
) {
    if imposed.is_zero() {
        return;
    }
    let one = Hindrance { whom: late.whom.clone(), imposed, late: late.span.length() };
    let known = found.entry(trial).or_insert_with(|| one.clone());
    let order = one.imposed.cmp(&known.imposed).then_with(|| known.whom.cmp(&one.whom));
    if order.is_gt() {
        *known = one;
    }
}

/// The same of a run that goes on.
#[derive(Debug, Clone, Default)]
pub struct Hindrances {
    trial: Option<(TrialNumber, Interval)>,
    lateness: Vec<Lateness>,
    looks: Vec<Processors>,
    found: BTreeMap<TrialNumber, Hindrance>,
}

impl Hindrances {
    /// Takes a fact into account, in the order of arrival.
    pub fn observe(&mut self, fact: &Fact) {
        if let What::TrialBegan { trial } = &fact.what {
            self.found = self.found();
            self.lateness.clear();
            self.looks.clear();
            self.trial = Some((*trial, Interval::new(fact.t, Mono(u64::MAX))));
        } else if let What::TrialEnded { .. } = &fact.what {
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

    /// In which trials so far the host kept a thread of the run from running for longer.
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

    /// What lies so far back that all is told of it need not be kept.
    fn fold(&mut self, now: Mono) {
        let known = now - TOLD;
        let Some((number, window)) = self.trial else { return };
        for late in self.lateness.iter().filter(|late| late.span.until < known) {
            note(&mut self.found, number, late, late.imposed_within(window, &self.looks));
        }
        self.lateness.retain(|late| late.span.until >= known);
        let from = self.lateness.iter().map(|late| late.span.from).min().unwrap_or(known);
        self.looks.retain(|look| look.span.until >= from.min(known));
        // Still too many: the oldest are judged by what is known, and the report knows better.
        let above = self.lateness.len().saturating_sub(KEPT / 2);
        for late in self.lateness.drain(..above) {
            note(&mut self.found, number, &late, late.imposed_within(window, &self.looks));
        }
    }
}
