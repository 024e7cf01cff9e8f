//! Counts gaps, overlaps and unknown time of one place, step by step.

use super::Reason;
use super::event::{Event, Place, Totals};
use crate::timeline::{Count, Interval};
use tandem_facts::time::Mono;

/// The counters of one place, and its open intervals.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    pub(super) place: Place,
    pub(super) totals: Totals,
    /// The end of the last final gap.
    pub(super) ended: Option<Mono>,
    gap: Option<Interval>,
    overlap: Option<Interval>,
}

impl Tally {
    pub(super) fn new(place: Place) -> Self {
        Self { place, totals: Totals::default(), ended: None, gap: None, overlap: None }
    }

    /// The same for other roles on the same partitions, counted from `at` on: everything before is
    /// counted for the roles before. An interval that goes on goes on for the other roles.
    pub(super) fn of(mut self, place: Place, at: Mono, events: &mut Vec<Event>) -> Self {
        if self.place == place {
            return self;
        }
        self.end(events);
        let since = self.totals.since.map(|_| at);
        Self { place, totals: Totals { since, ..Totals::default() }, ..self }
    }

    /// The final part of the gap that has not ended.
    pub(super) fn gap(&self) -> Option<Interval> {
        self.gap
    }

    /// Counts `step`, in which this many lives served; it follows the previous step.
    pub(super) fn serve(&mut self, step: Interval, count: Count, events: &mut Vec<Event>) {
        if self.totals.since.is_none() {
            if count.min <= 0 {
                return;
            }
            self.totals.since = Some(step.from);
        }
        if count.max <= 0 {
            self.totals.unavailable = self.totals.unavailable.saturating_add(step.length());
            match &mut self.gap {
                Some(gap) => gap.until = step.until,
                None => {
                    self.gap = Some(step);
                    events.push(Event::GapBegan(self.place.clone(), step.from, Reason::default()));
                }
            }
            return;
        }
        if let Some(gap) = self.gap.take() {
            self.ended = Some(gap.until);
            events.push(Event::Gap(self.place.clone(), gap, Reason::default()));
        }
        if count.min <= 0 {
            self.totals.unknown = self.totals.unknown.saturating_add(step.length());
        }
    }

    /// Counts `step`, in which this many lives claimed.
    pub(super) fn claim(&mut self, step: Interval, count: Count, events: &mut Vec<Event>) {
        let Some(since) = self.totals.since else { return };
        let step = Interval::new(step.from.max(since), step.until);
        if count.min >= 2 && !step.is_empty() {
            self.totals.overlap = self.totals.overlap.saturating_add(step.length());
            self.overlap.get_or_insert(step).until = step.until;
        } else if let Some(overlap) = self.overlap.take() {
            events.push(Event::Overlap(self.place.clone(), overlap));
        }
    }

    /// Ends open intervals. Nothing is counted after this.
    pub(super) fn end(&mut self, events: &mut Vec<Event>) {
        if let Some(gap) = self.gap.take() {
            self.ended = Some(gap.until);
            events.push(Event::Gap(self.place.clone(), gap, Reason::default()));
        }
        if let Some(overlap) = self.overlap.take() {
            events.push(Event::Overlap(self.place.clone(), overlap));
        }
    }
}
