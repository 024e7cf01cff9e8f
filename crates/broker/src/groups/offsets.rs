//! OffsetFetch: the committed offsets of a group; and their removal with a topic.

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
        self.groups.get(group)?.offsets.get(at).cloned()
    }

    /// All offsets of a group, topic by topic.
    pub fn handle_fetch_offsets(
        &mut self,
        now: Mono,
        group: &str,
    ) -> Vec<(TopicPartition, CommittedOffset)> {
        self.handle_timeout(now);
        let offsets = self.groups.get(group).map(|group| &group.offsets);
        offsets.into_iter().flatten().map(|(at, offset)| (at.clone(), offset.clone())).collect()
    }

    /// Removes the offsets of a deleted topic.
    pub fn handle_topic_deleted(&mut self, now: Mono, topic: &str) {
        self.handle_timeout(now);
        for group in self.groups.values_mut() {
            group.offsets.retain(|at, _| at.topic != topic);
        }
    }
}
