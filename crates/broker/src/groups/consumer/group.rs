//! One group: its epochs, its members and the target assignment.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::assignor::{Assignor, Candidate};
use super::catalog::{Catalog, Partition, Topic};
use super::member::ConsumerMember;
use crate::groups::commit::{CommittedOffset, TopicPartition};

/// The state of a group, with Kafka's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConsumerState {
    /// The group has no members; it may hold offsets.
    Empty,
    /// The next heartbeat computes a new target assignment.
    Assigning,
    /// Some members do not hold yet what they shall.
    Reconciling,
    /// Each member holds what it shall.
    Stable,
}

impl fmt::Display for ConsumerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Empty => "Empty",
            Self::Assigning => "Assigning",
            Self::Reconciling => "Reconciling",
            Self::Stable => "Stable",
        })
    }
}

#[derive(Debug, Clone, Default, Hash)]
pub(in crate::groups) struct ConsumerGroup {
    /// Raised by every change of members or topics.
    pub(super) epoch: i32,
    /// The group epoch for which the target was computed.
    pub(super) assignment_epoch: i32,
    pub(super) members: BTreeMap<String, ConsumerMember>,
    /// Member ids by instance id.
    pub(super) instances: BTreeMap<String, String>,
    /// What each member shall hold.
    pub(super) target: BTreeMap<String, BTreeSet<Partition>>,
    /// The topics that match each regular expression of a member.
    pub(super) resolved: BTreeMap<String, BTreeSet<String>>,
    /// The change of the catalog up to which that is so.
    pub(super) resolved_at: u64,
    /// Whether members have other regular expressions since.
    pub(super) regexes_changed: bool,
    /// The subscribed topics that exist, as the target knows them.
    pub(super) topics: BTreeMap<String, Topic>,
    /// The change of the catalog up to which that is so.
    pub(super) checked: u64,
    pub(in crate::groups) offsets: BTreeMap<TopicPartition, CommittedOffset>,
}

impl ConsumerGroup {
    /// A group without members that keeps the offsets of a classic one.
    pub(in crate::groups) fn with_offsets(
        offsets: BTreeMap<TopicPartition, CommittedOffset>,
    ) -> Self {
        Self { offsets, ..Self::default() }
    }

    pub(in crate::groups) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The state of the group.
    pub(in crate::groups) fn state(&self) -> ConsumerState {
        let reconciled = |one: &ConsumerMember| one.is_reconciled(self.assignment_epoch);
        if self.members.is_empty() {
            ConsumerState::Empty
        } else if self.epoch > self.assignment_epoch {
            ConsumerState::Assigning
        } else if self.members.values().all(reconciled) {
            ConsumerState::Stable
        } else {
            ConsumerState::Reconciling
        }
    }

    /// The assignor that most members want.
    pub(super) fn assignor(&self) -> Assignor {
        let mut votes: BTreeMap<Assignor, usize> = BTreeMap::new();
        for assignor in self.members.values().filter_map(|one| one.assignor) {
            *votes.entry(assignor).or_default() += 1;
        }
        let most = votes.values().copied().max();
        let first = votes.into_iter().find(|(_, count)| Some(*count) == most);
        first.map_or_else(Assignor::default, |(assignor, _)| assignor)
    }

    pub(super) fn raise(&mut self) {
        self.epoch = self.epoch.saturating_add(1);
    }

    /// Raises the epoch if the subscription changed, or if the subscribed topics did.
    pub(super) fn refresh(&mut self, catalog: &Catalog, subscription_changed: bool) {
        if !subscription_changed && self.epoch > 0 && self.checked == catalog.changes() {
            return;
        }
        let topics = catalog.view(self.names().iter());
        if self.epoch == 0 {
            self.raise();
        }
        if subscription_changed || topics != self.topics {
            self.raise();
        }
        self.topics = topics;
        self.checked = catalog.changes();
    }

    /// Computes the target assignment of the group's epoch, if there is none yet.
    pub(super) fn aim(&mut self, catalog: &Catalog) {
        if self.epoch <= self.assignment_epoch {
            return;
        }
        self.topics = catalog.view(self.names().iter());
        let candidate = |(id, member)| {
            let (id, member): (&String, &ConsumerMember) = (id, member);
            Candidate {
                id,
                instance: member.instance_id.as_deref(),
                topics: catalog.ids(&self.subscription(member)),
                share: self.target.get(id).cloned().unwrap_or_default(),
            }
        };
        let candidates = self.members.iter().map(candidate).collect();
        self.target = self.assignor().assign(candidates, &self.topics);
        self.assignment_epoch = self.epoch;
    }

    /// What the other members hold, or have not given up yet.
    pub(super) fn taken(&self, but: &str) -> BTreeSet<Partition> {
        let others = self.members.iter().filter(|(id, _)| *id != but).map(|(_, member)| member);
        others.flat_map(|one| one.assigned.keys().chain(one.revoking.keys())).copied().collect()
    }

    /// Removes a member: at the next heartbeat the others get what it held.
    pub(super) fn fence(&mut self, id: &str) {
        let Some(member) = self.members.remove(id) else { return };
        self.regexes_changed |= member.regex.is_some();
        self.instances.retain(|_, holder| holder != id);
        self.target.remove(id);
        self.raise();
    }
}
