//! Fences: a number for each partition that rises with each owner, so that a store can refuse the
//! writes of a former one.
//!
//! A fence is a pair in one number, which is ordered as the pair is: an **epoch** above, and in the
//! low [`COUNT_BITS`](super::COUNT_BITS) bits a count of the owners in it. A count that is used up
//! goes over into the next epoch.
//!
//! The group keeps the fence as a committed offset of the partition. A member that was given
//! partitions reads the last fences, and commits the next one of each in its own generation: the
//! coordinator refuses the commit of any earlier generation, so no former owner can have a higher
//! one later. Both requests go to one coordinator, or a deposed one could name a fence that was
//! followed by others since; its commits are never acknowledged, for brokers replicate them.
//!
//! A partition without a fence begins an epoch. That is so at first, and when the brokers have lost
//! what the group committed. Then it has to be above each epoch that there was:
//!
//! - Members read the fences of all partitions again and again ([`GroupConfig::learns`]), also
//!   those that hold nothing, and the new epoch is above all that the member has read in its life.
//! - It is above all that its host keeps on its disk ([`GroupMember::keeping_fences`]): what any of
//!   its members was given, kept before that is committed, and what they have read.
//! - It is at least the number of seconds since 1970. This alone counts for a member of a host that
//!   knew nothing of the group, and only so far clocks matter.
//!
//! [`GroupConfig::learns`]: super::GroupConfig::learns

use std::collections::{BTreeMap, BTreeSet};

use super::{GroupMember, Phase, Refusal, Request, RequestId};
use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;

/// Fences by partition.
pub type ByPartition = BTreeMap<PartitionId, i64>;

/// Fences that the host has to keep before they are committed.
#[derive(Debug, Clone, Hash)]
pub(super) struct Wanted {
    id: RequestId,
    fences: ByPartition,
    is_asked: bool,
}

impl Wanted {
    pub(super) const fn new(id: RequestId, fences: ByPartition) -> Self {
        Self { id, fences, is_asked: false }
    }

    /// Asks once.
    pub(super) fn ask(&mut self) -> Option<(RequestId, ByPartition)> {
        (!std::mem::replace(&mut self.is_asked, true)).then(|| (self.id, self.fences.clone()))
    }

    /// The fences as the host keeps them, if it answers this question; none falls.
    pub(super) fn answered(&self, id: RequestId, kept: &ByPartition) -> Option<ByPartition> {
        let higher = |(partition, fence): (&PartitionId, &i64)| {
            (*partition, kept.get(partition).copied().unwrap_or(*fence).max(*fence))
        };
        (self.id == id).then(|| self.fences.iter().map(higher).collect())
    }

    pub(super) fn partitions(&self) -> impl Iterator<Item = &PartitionId> {
        self.fences.keys()
    }
}

/// A member's fences in one generation.
#[derive(Debug, Clone, Default, Hash)]
pub(super) enum Fences {
    /// The last numbers have to be read.
    #[default]
    Unread,
    /// These have to be kept by the host, which may raise them.
    Wanted(Wanted),
    /// These have to be committed.
    Raised(ByPartition),
    /// These were committed.
    Kept(ByPartition),
}

impl GroupMember {
    /// The same member, which commits no fence before its host has kept it: the caller takes each
    /// question from [`poll_fences`](Self::poll_fences).
    #[must_use]
    pub fn keeping_fences(self) -> Self {
        Self { keeps_fences: true, ..self }
    }

    /// Fences for the host to keep. It raises them above all that it keeps of the group
    /// ([`fences_above`]), writes the highest down, and answers with
    /// [`handle_fences`](Self::handle_fences).
    #[must_use]
    pub fn poll_fences(&mut self) -> Option<(RequestId, ByPartition)> {
        match &mut self.fences {
            Fences::Wanted(wanted) => wanted.ask(),
            Fences::Unread | Fences::Raised(_) | Fences::Kept(_) => None,
        }
    }

    /// The host keeps these fences. An answer to a question of the past is no news.
    pub fn handle_fences(&mut self, now: Mono, id: RequestId, kept: &ByPartition) {
        self.handle_timeout(now);
        if let Fences::Wanted(wanted) = &self.fences
            && let Some(fences) = wanted.answered(id, kept)
        {
            self.fences = Fences::Raised(fences);
            self.commit_due = now;
        }
    }

    /// A fence that the group has shown, of an epoch that is news: for the host to keep, if it
    /// keeps fences. No one waits for that.
    #[must_use]
    pub fn poll_learned(&mut self) -> Option<i64> {
        self.known.news().filter(|_| self.keeps_fences)
    }

    /// When to read the fences again, though the member needs none.
    pub(super) fn next_learn_due(&self) -> Option<Mono> {
        self.learn_due.filter(|_| self.is_stable() && self.config.commit.is_some())
    }

    /// The question for the fences: of what the member holds, and if it learns, of all.
    pub(super) fn offsets(&mut self, now: Mono, member_id: String, generation: i32) -> Request {
        self.learn_due = self.config.learns.map(|interval| now + interval);
        let partitions = match self.learn_due {
            Some(_) => (0..self.config.width.get()).map(PartitionId).collect(),
            None => self.held.iter().copied().collect(),
        };
        Request::Offsets { member_id, generation, partitions }
    }

    pub(super) const fn waits_for_host(&self) -> bool {
        matches!(self.fences, Fences::Wanted(_))
    }

    /// The fence of a partition that the member holds, once it is committed: higher than that of
    /// any earlier owner. It exists only where the member commits ([`GroupConfig::commit`]), and
    /// from the first [`proof`](Self::proof) of a generation on.
    ///
    /// [`GroupConfig::commit`]: super::GroupConfig::commit
    #[must_use]
    pub fn fence(&self, partition: PartitionId) -> Option<i64> {
        match &self.fences {
            Fences::Kept(fences) => fences.get(&partition).copied(),
            Fences::Unread | Fences::Wanted(_) | Fences::Raised(_) => None,
        }
    }

    /// What the next commit keeps: first all fences, later one of them, for it proves as much.
    /// None while the last ones have to be read, and while the host has to keep the next ones.
    pub(super) fn to_commit(&self) -> Option<Vec<(PartitionId, i64)>> {
        let pair = |(partition, fence): (&PartitionId, &i64)| (*partition, *fence);
        match &self.fences {
            Fences::Unread | Fences::Wanted(_) => None,
            Fences::Raised(fences) => Some(fences.iter().map(pair).collect()),
            Fences::Kept(fences) => Some(fences.iter().take(1).map(pair).collect()),
        }
    }

    /// The group's last fences; a partition without one has no entry.
    pub(super) fn read(&mut self, now: Mono, last: &ByPartition) {
        self.backoff.succeeded();
        self.known.read(last);
        let lacks = matches!(self.fences, Fences::Unread) && !self.held.is_empty();
        if !lacks || !matches!(self.phase, Phase::Stable { .. }) {
            return;
        }
        let held: &BTreeSet<PartitionId> = &self.held;
        let Some(fences) = self.known.next(now, &self.config, held.iter().copied(), last) else {
            return self.go(now, Some(Refusal::NoHigherFence));
        };
        self.fences = if self.keeps_fences {
            self.next_id += 1;
            Fences::Wanted(Wanted::new(RequestId(self.next_id), fences))
        } else {
            Fences::Raised(fences)
        };
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
            Fences::Wanted(wanted) => Fences::Wanted(wanted),
            Fences::Unread => Fences::Unread,
        };
    }

    /// The coordinator may be another one: what the last one named may be old.
    pub(super) fn distrust_fences(&mut self) {
        if matches!(self.fences, Fences::Wanted(_) | Fences::Raised(_)) {
            self.fences = Fences::Unread;
        }
    }
}
