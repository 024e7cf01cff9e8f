//! The vector `V`: when the member last heard each partition, and the claims that follow from it.

use std::num::NonZeroU32;
use std::time::Duration;

use tandem_facts::ids::{PartitionId, Term};
use tandem_facts::observation::Horizon;
use tandem_facts::time::Mono;

/// One entry per partition. A partition that was never heard has no claim.
#[derive(Debug, Clone, Hash)]
pub(super) struct Vector {
    threshold: Duration,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy, Hash)]
struct Entry {
    /// The number of the latest claim, from 1; 0 before the first.
    term: Term,
    /// `V[k] + T` while the claim lasts.
    until: Option<Mono>,
}

impl Vector {
    pub(super) fn new(width: NonZeroU32, threshold: Duration) -> Self {
        let entries = (0..width.get()).map(|_| Entry { term: Term(0), until: None }).collect();
        Self { threshold, entries }
    }

    /// Sets `V[k]` to `at` if that is later, and returns the claim if one begins. Partitions beyond
    /// the width are ignored, since the width is read only once, at start.
    pub(super) fn heard(&mut self, now: Mono, partition: PartitionId, at: Mono) -> Option<Horizon> {
        self.extend(now, partition, at + self.threshold)
    }

    /// Lets the claim on `partition` last until then at least, and returns it if it begins.
    pub(super) fn extend(
        &mut self,
        now: Mono,
        partition: PartitionId,
        until: Mono,
    ) -> Option<Horizon> {
        let entry = self.entries.get_mut(partition.index())?;
        if until <= now || entry.until.is_some_and(|known| until <= known) {
            return None;
        }
        let began = entry.until.is_none();
        if began {
            entry.term = Term(entry.term.0.saturating_add(1));
        }
        entry.until = Some(until);
        began.then_some(Horizon { partition, term: entry.term, until })
    }

    /// Ends claims that have lapsed: a member "leads partition `i` at `t` iff `V[i] > t - T`", so
    /// it no longer leads at `V[i] + T`.
    pub(super) fn expire(&mut self, now: Mono) -> Vec<Horizon> {
        let mut ended = Vec::new();
        for (partition, entry) in (0..).map(PartitionId).zip(&mut self.entries) {
            if let Some(until) = entry.until.take_if(|until| *until <= now) {
                ended.push(Horizon { partition, term: entry.term, until });
            }
        }
        ended
    }

    /// Lets the claims on these partitions last until `end` at the latest.
    pub(super) fn curtail(&mut self, end: Mono, of: impl Fn(PartitionId) -> bool) {
        for (partition, entry) in (0..).map(PartitionId).zip(&mut self.entries) {
            entry.until = entry.until.map(|it| if of(partition) { it.min(end) } else { it });
        }
    }

    /// Ends the claim on `partition` at `now`, and returns it if there was one.
    pub(super) fn end(&mut self, now: Mono, partition: PartitionId) -> Option<Horizon> {
        let entry = self.entries.get_mut(partition.index())?;
        entry.until.take().map(|_| Horizon { partition, term: entry.term, until: now })
    }

    /// The number of partitions.
    pub(super) fn width(&self) -> u32 {
        u32::try_from(self.entries.len()).unwrap_or(u32::MAX)
    }

    pub(super) const fn threshold(&self) -> Duration {
        self.threshold
    }

    pub(super) fn next_lapse(&self) -> Option<Mono> {
        self.entries.iter().filter_map(|entry| entry.until).min()
    }

    pub(super) fn claim(&self, partition: PartitionId) -> Option<Horizon> {
        let entry = self.entries.get(partition.index())?;
        entry.until.map(|until| Horizon { partition, term: entry.term, until })
    }

    pub(super) fn claims(&self) -> impl Iterator<Item = Horizon> + '_ {
        (0..)
            .map(PartitionId)
            .take(self.entries.len())
            .filter_map(|partition| self.claim(partition))
    }
}
