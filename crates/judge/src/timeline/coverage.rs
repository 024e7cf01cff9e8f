//! How many members claim or serve at once: a count over time that may be uncertain.
//!
//! At each instant there is a least and a greatest count. A member that surely serves counts in
//! both; one that may serve only in the greatest. So "does no member serve?" has three answers: yes
//! if the greatest count is 0, no if the least is above 0, and otherwise unknown.

use std::collections::BTreeMap;

use super::{Interval, IntervalSet};
use tandem_facts::time::Mono;

/// The least and the greatest possible count at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// The least.
    pub min: i64,
    /// The greatest.
    pub max: i64,
}

/// A count over time; 0 before the first change and after the last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    changes: BTreeMap<Mono, Count>,
}

impl Coverage {
    /// Adds one member: surely within `sure`, possibly within `possible`.
    pub fn add(&mut self, sure: &IntervalSet, possible: &IntervalSet) {
        for interval in sure.iter() {
            self.change(interval.from).min += 1;
            self.change(interval.until).min -= 1;
        }
        for interval in possible.iter() {
            self.change(interval.from).max += 1;
            self.change(interval.until).max -= 1;
        }
    }

    /// Adds another member, of which nothing is known but that it does nothing while one of `held`
    /// holds what is counted.
    pub(crate) fn add_other(&mut self, held: &IntervalSet) {
        let ever = IntervalSet::from(Interval::new(Mono::ZERO, Mono(u64::MAX)));
        self.add(&IntervalSet::default(), &ever.subtract(held));
    }

    /// The sum of two counts.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        for (&at, change) in &other.changes {
            let sum = self.change(at);
            sum.min += change.min;
            sum.max += change.max;
        }
        self
    }

    /// The count at an instant.
    #[must_use]
    pub fn at(&self, at: Mono) -> Count {
        self.changes.range(..=at).fold(Count::default(), |sum, (_, change)| sum.after(*change))
    }

    /// The count within `window`, as consecutive steps.
    pub fn steps(&self, window: Interval) -> impl Iterator<Item = (Interval, Count)> + '_ {
        let mut count =
            self.changes.range(..=window.from).fold(Count::default(), |sum, (_, c)| sum.after(*c));
        let inner = window.from < window.until;
        let bounds =
            (std::ops::Bound::Excluded(window.from), std::ops::Bound::Excluded(window.until));
        let changes = inner.then(|| self.changes.range(bounds)).into_iter().flatten();
        let ends = changes.map(|(&at, &change)| (at, change));
        let last = inner.then_some((window.until, Count::default()));
        ends.chain(last).scan(window.from, move |from, (until, change)| {
            let step = (Interval::new(*from, until), count);
            *from = until;
            count = count.after(change);
            Some(step)
        })
    }

    /// The parts of `window` in which `wanted` holds for the count.
    #[must_use]
    pub fn when(&self, window: Interval, wanted: impl Fn(Count) -> bool) -> IntervalSet {
        self.steps(window).filter(|(_, count)| wanted(*count)).map(|(step, _)| step).collect()
    }

    fn change(&mut self, at: Mono) -> &mut Count {
        self.changes.entry(at).or_default()
    }
}

impl Count {
    fn after(self, change: Self) -> Self {
        Self { min: self.min + change.min, max: self.max + change.max }
    }
}
