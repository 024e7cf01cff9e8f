//! The way of one member from what it holds to what it shall hold, one heartbeat after the other.

use std::collections::BTreeSet;

use super::catalog::{Partition, TopicId};
use super::member::{ConsumerMember, Holding, Progress};

/// What a member shall hold, and what it may learn from its heartbeat.
#[derive(Debug)]
pub(super) struct Goal<'a> {
    /// The epoch of the target assignment.
    pub(super) epoch: i32,
    /// The partitions of this member in it.
    pub(super) target: &'a BTreeSet<Partition>,
    /// The topics that the member subscribes to.
    pub(super) subscribed: &'a BTreeSet<TopicId>,
    /// What the member says that it holds, if it says so.
    pub(super) owned: Option<&'a [Partition]>,
    /// What the others hold.
    pub(super) taken: &'a BTreeSet<Partition>,
}

impl ConsumerMember {
    /// Goes as far towards the goal as it can.
    pub(super) fn reconcile(&mut self, goal: &Goal<'_>) {
        match self.progress {
            Progress::Stable if self.epoch == goal.epoch => self.drop_unsubscribed(goal),
            Progress::UnrevokedPartitions if goal.owns_any(&self.revoking) => {
                self.give_up_unsubscribed(goal.subscribed);
            }
            Progress::Stable | Progress::UnrevokedPartitions | Progress::UnreleasedPartitions => {
                self.advance(goal);
            }
        }
    }

    /// What it must give up comes first; then it enters the epoch with what is free.
    fn advance(&mut self, goal: &Goal<'_>) {
        let wanted = |at: &Partition| goal.subscribed.contains(&at.topic);
        let target: BTreeSet<Partition> = goal.target.iter().copied().filter(wanted).collect();
        let (kept, surplus): (Holding, Holding) = self
            .assigned
            .iter()
            .map(|(at, since)| (*at, *since))
            .partition(|(at, _)| target.contains(at));
        if !surplus.is_empty() && goal.owns_any(&surplus) {
            self.progress = Progress::UnrevokedPartitions;
            self.enter(self.epoch);
            self.assigned = kept;
            self.revoking = surplus;
            return;
        }
        let missing = target.into_iter().filter(|at| !kept.contains_key(at));
        let (unreleased, free): (Vec<_>, Vec<_>) = missing.partition(|at| goal.taken.contains(at));
        self.progress =
            if unreleased.is_empty() { Progress::Stable } else { Progress::UnreleasedPartitions };
        self.enter(goal.epoch);
        self.assigned = kept;
        self.assigned.extend(free.into_iter().map(|at| (at, goal.epoch)));
        self.revoking.clear();
    }

    /// A member at the epoch of the target may have to give up what it no longer subscribes to, if
    /// its regular expression changed.
    fn drop_unsubscribed(&mut self, goal: &Goal<'_>) {
        self.give_up_unsubscribed(goal.subscribed);
        if goal.owns_any(&self.revoking) {
            self.progress = Progress::UnrevokedPartitions;
        } else {
            self.revoking.clear();
        }
    }

    /// A member that has not given up everything yet may have to give up more.
    fn give_up_unsubscribed(&mut self, subscribed: &BTreeSet<TopicId>) {
        let (kept, surplus): (Holding, Holding) = std::mem::take(&mut self.assigned)
            .into_iter()
            .partition(|(at, _)| subscribed.contains(&at.topic));
        self.assigned = kept;
        self.revoking.extend(surplus);
    }

    fn enter(&mut self, epoch: i32) {
        self.previous = self.epoch;
        self.epoch = epoch;
    }
}

impl Goal<'_> {
    /// Whether the member still holds any of these. If it does not say, it may.
    fn owns_any(&self, holding: &Holding) -> bool {
        self.owned.is_none_or(|owned| owned.iter().any(|at| holding.contains_key(at)))
    }
}
