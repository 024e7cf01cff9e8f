//! The configuration and metadata of a cluster, and the coordinator of a group that follows from
//! them.

use std::collections::BTreeMap;

use tandem_facts::ids::{ConsumerGroup, TopicName};
use tandem_facts::time::Span;

/// What a cluster reports about itself; a field is empty where it reports nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClusterFacts {
    /// The addresses of the brokers, by broker id.
    pub brokers: BTreeMap<i32, String>,
    /// `group.min.session.timeout.ms`.
    pub session_least: Option<Span>,
    /// `group.max.session.timeout.ms`.
    pub session_most: Option<Span>,
    /// Whether its groups may speak the newer protocol (KIP-848), where that is visible.
    pub consumer: Option<bool>,
    /// The least and the longest `consumer.session.timeout.ms` of a group.
    pub consumer_session: Option<(Span, Span)>,
    /// The same of `consumer.heartbeat.interval.ms`.
    pub consumer_heartbeat: Option<(Span, Span)>,
    /// `group.initial.rebalance.delay.ms`.
    pub initial_delay: Option<Span>,
    /// `inter.broker.protocol.version`; Kafka 4 has none.
    pub protocol: Option<String>,
    /// The broker that leads each partition of `__consumer_offsets`, by the partition's number;
    /// `None` while the partition has no leader.
    pub offsets_leaders: Vec<Option<i32>>,
    /// `min.insync.replicas` of `__consumer_offsets`.
    pub offsets_insync: Option<u32>,
    /// `unclean.leader.election.enable` of `__consumer_offsets`.
    pub offsets_unclean: Option<bool>,
    /// The number of partitions of each of the plan's topics that exists.
    pub widths: BTreeMap<TopicName, u32>,
    /// `message.timestamp.type` of the topics of groups that rely on it, where that is visible.
    pub stamps: BTreeMap<TopicName, String>,
    /// For each missing topic that the cluster would not create, the reason.
    pub refusals: BTreeMap<TopicName, String>,
    /// The client ids of the members that a consumer group already has.
    pub strangers: BTreeMap<ConsumerGroup, Vec<String>>,
}

impl ClusterFacts {
    /// The broker that coordinates a group. If the cluster has one broker only and shows no
    /// `__consumer_offsets`, it is that broker.
    #[must_use]
    pub fn coordinator(&self, group: &ConsumerGroup) -> Option<i32> {
        let Some(partition) = self.offsets_partition(group) else {
            let mut brokers = self.brokers.keys();
            return brokers.next().copied().filter(|_| brokers.next().is_none());
        };
        self.offsets_leaders.get(usize::try_from(partition).ok()?).copied().flatten()
    }

    /// The partition of `__consumer_offsets` to which a group belongs, if the topic is visible.
    #[must_use]
    pub fn offsets_partition(&self, group: &ConsumerGroup) -> Option<u32> {
        let count = u32::try_from(self.offsets_leaders.len()).ok().filter(|count| *count > 0)?;
        Some(offsets_partition(group, count))
    }
}

/// The partition of `__consumer_offsets` whose leader coordinates the group, as Kafka computes it:
/// `Utils.abs(groupId.hashCode()) % groupMetadataTopicPartitionCount`.
#[must_use]
pub fn offsets_partition(group: &ConsumerGroup, count: u32) -> u32 {
    let hash = group
        .as_str()
        .bytes()
        .fold(0i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte)));
    hash.checked_abs().map_or(0, i32::unsigned_abs) % count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coordinator_is_found_as_kafka_finds_it() {
        // Java: "polygenelubricants".hashCode() is Integer.MIN_VALUE, "console-consumer"
        // 1466014243.
        let of = |name: &str| name.parse().map(|group| offsets_partition(&group, 50));
        assert_eq!(of("polygenelubricants"), Ok(0));
        assert_eq!(of("a"), Ok(97 % 50));
        assert_eq!(of("ab"), Ok((97 * 31 + 98) % 50));
    }
}
