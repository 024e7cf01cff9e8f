//! The topics that exist: the coordinator assigns their partitions.

use std::collections::{BTreeMap, BTreeSet};

use crate::groups::coordinator::Coordinator;
use tandem_facts::time::Mono;

/// The id of a topic (KIP-516), which a topic of the same name that follows does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub u128);

/// A partition of a topic that has this id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition {
    /// The topic.
    pub topic: TopicId,
    /// The number of the partition.
    pub index: i32,
}

/// A topic, as groups see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::groups) struct Topic {
    pub(in crate::groups) id: TopicId,
    pub(in crate::groups) width: i32,
}

/// All topics by name.
#[derive(Debug, Clone, Default, Hash)]
pub(in crate::groups) struct Catalog {
    topics: BTreeMap<String, Topic>,
    /// How often it was changed.
    changes: u64,
}

impl Catalog {
    pub(super) const fn changes(&self) -> u64 {
        self.changes
    }

    pub(super) fn id(&self, name: &str) -> Option<TopicId> {
        self.topics.get(name).map(|topic| topic.id)
    }

    /// The ids of those of these topics that exist.
    pub(super) fn ids(&self, names: &BTreeSet<String>) -> BTreeSet<TopicId> {
        names.iter().filter_map(|name| self.id(name)).collect()
    }

    /// Those of these topics that exist.
    pub(super) fn view<'a>(
        &self,
        names: impl Iterator<Item = &'a String>,
    ) -> BTreeMap<String, Topic> {
        let each = names.filter_map(|name| Some((name.clone(), *self.topics.get(name)?)));
        each.collect()
    }

    /// The names of all topics.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.topics.keys()
    }

    fn remove(&mut self, name: &str) {
        self.changes = self.changes.saturating_add(1);
        self.topics.remove(name);
    }
}

impl Coordinator {
    /// A topic was created or got more partitions. Groups that subscribe to it assign them at the
    /// next heartbeat of any member.
    pub fn handle_topic(&mut self, now: Mono, name: &str, id: TopicId, width: i32) {
        self.handle_timeout(now);
        self.catalog.remove(name);
        self.catalog.topics.insert(name.to_owned(), Topic { id, width });
    }

    /// Removes a deleted topic, and the offsets that were committed on it.
    pub fn handle_topic_deleted(&mut self, now: Mono, topic: &str) {
        self.handle_timeout(now);
        self.catalog.remove(topic);
        let classic = self.groups.values_mut().map(|group| &mut group.offsets);
        let consumer = self.consumers.values_mut().map(|group| &mut group.offsets);
        for offsets in classic.chain(consumer) {
            offsets.retain(|at, _| at.topic != topic);
        }
    }
}
