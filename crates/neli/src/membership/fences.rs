//! Fences: a number for each partition that rises with each owner, so that a store can refuse the
//! writes of a former one.
//!
//! The group keeps it as the committed offset of the partition. A member that was given partitions
//! reads the last number, and commits one above it in its own generation: the coordinator refuses
//! the commit of any earlier generation, so no former owner can have a higher one later. Both
//! requests go to one coordinator, or a deposed one could name a number that was raised since; its
//! commits are never acknowledged, for brokers replicate them.
//!
//! A number is also at least the wall clock in milliseconds. That carries the fences over where the
//! group forgets them: with a deleted topic, with a broker that lost its data, or seven days after
//! the group was last used.

use std::collections::BTreeMap;

use super::{GroupMember, Phase, Refusal};
use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;

/// A member's fences in one generation.
#[derive(Debug, Clone, Default, Hash)]
pub(super) enum Fences {
    /// The last numbers have to be read.
    #[default]
    Unread,
    /// These have to be committed.
    Raised(BTreeMap<PartitionId, i64>),
    /// These were committed.
    Kept(BTreeMap<PartitionId, i64>),
}

impl GroupMember {
    /// The fence of a partition that the member holds, once it is committed: higher than that of
    /// any earlier owner. It exists only where the member commits ([`GroupConfig::commit`]), and
    /// from the first [`proof`](Self::proof) of a generation on.
    ///
    /// [`GroupConfig::commit`]: super::GroupConfig::commit
    #[must_use]
    pub fn fence(&self, partition: PartitionId) -> Option<i64> {
        match &self.fences {
            Fences::Kept(fences) => fences.get(&partition).copied(),
            Fences::Unread | Fences::Raised(_) => None,
        }
    }

    /// What the next commit keeps: first all fences, later one of them, for it proves as much.
    /// None while the last ones have to be read.
    pub(super) fn to_commit(&self) -> Option<Vec<(PartitionId, i64)>> {
        let pair = |(partition, fence): (&PartitionId, &i64)| (*partition, *fence);
        match &self.fences {
            Fences::Unread => None,
            Fences::Raised(fences) => Some(fences.iter().map(pair).collect()),
            Fences::Kept(fences) => Some(fences.iter().take(1).map(pair).collect()),
        }
    }

    /// The group's last numbers; a partition without one has no entry.
    pub(super) fn read(&mut self, now: Mono, last: &BTreeMap<PartitionId, i64>) {
        self.backoff.succeeded();
        if !matches!(self.phase, Phase::Stable { .. }) {
            return;
        }
        let wall = self.config.wall_ms.saturating_add_unsigned(now.0 / 1_000_000);
        let raised = |partition: &PartitionId| {
            let last = last.get(partition).copied().unwrap_or_default();
            (*partition, last.saturating_add(1).max(wall))
        };
        self.fences = Fences::Raised(self.held.iter().map(raised).collect());
        self.commit_due = now;
    }

    pub(super) fn unread(&mut self, now: Mono, refusal: Refusal) {
        self.commit_due = now + self.config.heartbeat;
        self.refused(now, refusal);
    }

    /// The commit of the raised fences was acknowledged.
    pub(super) fn keep_fences(&mut self) {
        self.fences = match std::mem::take(&mut self.fences) {
            Fences::Raised(fences) | Fences::Kept(fences) => Fences::Kept(fences),
            Fences::Unread => Fences::Unread,
        };
    }

    /// The coordinator may be another one: what the last one named may be old.
    pub(super) fn distrust_fences(&mut self) {
        if matches!(self.fences, Fences::Raised(_)) {
            self.fences = Fences::Unread;
        }
    }
}
