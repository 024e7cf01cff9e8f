//! OffsetFetch: the committed offsets of a group.

use std::collections::BTreeMap;

use super::commit::{CommittedOffset, TopicPartition};
use super::coordinator::Coordinator;
use tandem_facts::time::Mono;

impl Coordinator {
    /// The latest committed offset; none without a commit or a group.
    pub fn handle_fetch_offset(
        &mut self,
        now: Mono,
        group: &str,
        at: &TopicPartition,
    ) -> Option<CommittedOffset> {
        self.handle_timeout(now);
        self.offsets(group)?.get(at).cloned()
    }

    /// All offsets of a group, topic by topic.
    pub fn handle_fetch_offsets(
        &mut self,
        now: Mono,
        group: &str,
    ) -> Vec<(TopicPartition, CommittedOffset)> {
        self.handle_timeout(now);
        let offsets = self.offsets(group);
        offsets.into_iter().flatten().map(|(at, offset)| (at.clone(), offset.clone())).collect()
    }

    fn offsets(&self, group: &str) -> Option<&BTreeMap<TopicPartition, CommittedOffset>> {
        let classic = self.groups.get(group).map(|group| &group.offsets);
        classic.or_else(|| self.consumers.get(group).map(|group| &group.offsets))
    }
}
