//! One member of a group: its subscription, its epoch, and the partitions that it may hold.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::assignor::Assignor;
use super::catalog::{Partition, TopicId};
use super::heartbeat::ConsumerHeartbeat;
use tandem_facts::time::Mono;

/// The epoch of a static member that left and may come back.
pub(super) const AWAY: i32 = -2;

/// Partitions, and the epoch in which the member got each.
pub(super) type Holding = BTreeMap<Partition, i32>;

/// How far the member is on its way to the target assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) enum Progress {
    /// It holds what it shall at its epoch.
    #[default]
    Stable,
    /// It has not confirmed yet that it gave up some partitions.
    UnrevokedPartitions,
    /// It waits for partitions that others still hold.
    UnreleasedPartitions,
}

/// What of a subscription a heartbeat changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Changed {
    pub(super) topics: bool,
    pub(super) regex: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(in crate::groups) struct ConsumerMember {
    pub(super) instance_id: Option<String>,
    pub(super) rack_id: Option<String>,
    pub(super) client_id: String,
    pub(super) client_host: String,
    /// How long it may take to give up partitions.
    pub(super) rebalance: Duration,
    pub(super) topics: BTreeSet<String>,
    /// A regular expression for further topics.
    pub(super) regex: Option<String>,
    pub(super) assignor: Option<Assignor>,
    pub(super) epoch: i32,
    /// The epoch before, for a member that missed an answer.
    pub(super) previous: i32,
    pub(super) progress: Progress,
    pub(super) assigned: Holding,
    /// What it must give up, and has not yet.
    pub(super) revoking: Holding,
    /// When the session ends, unless it is renewed.
    pub(super) expiry: Option<Mono>,
    /// When it is fenced, unless it has given up by then what it must.
    pub(super) revoke_by: Option<Mono>,
}

impl ConsumerMember {
    /// A member that joins. It has no epoch yet.
    pub(super) fn new() -> Self {
        Self { previous: -1, ..Self::default() }
    }

    /// Takes over what the heartbeat brings. Returns what of the subscription that changed.
    pub(super) fn update(&mut self, beat: &ConsumerHeartbeat) -> Changed {
        self.client_id.clone_from(&beat.client_id);
        self.client_host.clone_from(&beat.client_host);
        if beat.instance_id.is_some() {
            self.instance_id.clone_from(&beat.instance_id);
        }
        if beat.rack_id.is_some() {
            self.rack_id.clone_from(&beat.rack_id);
        }
        if let Some(rebalance) = beat.rebalance {
            self.rebalance = rebalance;
        }
        if let Some(assignor) = beat.assignor.as_deref().and_then(Assignor::named) {
            self.assignor = Some(assignor);
        }
        let mut changed = Changed::default();
        if let Some(topics) = &beat.topics {
            let topics: BTreeSet<String> = topics.iter().cloned().collect();
            changed.topics = topics != self.topics;
            self.topics = topics;
        }
        if let Some(regex) = &beat.regex {
            let regex = Some(regex.clone()).filter(|regex| !regex.is_empty());
            changed.regex = regex != self.regex;
            self.regex = regex;
        }
        changed
    }

    /// Whether all partitions that it holds are of these topics.
    pub(super) fn holds_only(&self, topics: &BTreeSet<TopicId>) -> bool {
        self.assigned.keys().all(|at| topics.contains(&at.topic))
    }

    /// Whether the member holds what it shall in this epoch.
    pub(super) fn is_reconciled(&self, epoch: i32) -> bool {
        self.progress == Progress::Stable && self.epoch == epoch
    }

    /// The epoch in which it got a partition that it still holds.
    pub(super) fn held_since(&self, topic: TopicId, index: i32) -> Option<i32> {
        let at = Partition { topic, index };
        self.assigned.get(&at).or_else(|| self.revoking.get(&at)).copied()
    }
}
