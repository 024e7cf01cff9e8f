//! Fences on the wire: offsets that the group commits in two places.
//!
//! Brokers drop the committed offsets of a topic that is deleted. So each fence is committed under
//! the ledger, and under the partition of the same number of `__consumer_offsets`, which no one
//! deletes and which no consumer reads; the later one of both counts. One request carries both, and
//! the coordinator appends both to its log at once. It refuses the second alone where the topic has
//! fewer partitions than the ledger, or where the user may not read it: a member does without it
//! then.

use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestTopic;
use kafka_protocol::messages::offset_fetch_response::OffsetFetchResponsePartition;
use kafka_protocol::messages::{OffsetCommitResponse, OffsetFetchResponse};
use kafka_protocol::protocol::StrBytes;
use tandem_facts::ids::PartitionId;
use tandem_neli::membership::{ByPartition, Refusal, Response};

use super::{Speaker, index, refused};

/// The topic whose committed offsets outlive the ledger.
const OFFSETS: StrBytes = StrBytes::from_static_str("__consumer_offsets");
/// The offset that clients of Kafka take for none.
const NO_OFFSET: i64 = -1;

impl Speaker {
    pub(super) fn asked(&self, partitions: &[PartitionId]) -> Vec<OffsetFetchRequestTopic> {
        let asked = |topic: StrBytes| {
            OffsetFetchRequestTopic::default()
                .with_name(topic.into())
                .with_partition_indexes(partitions.iter().copied().map(index).collect())
        };
        [self.topic.clone(), OFFSETS].map(asked).into()
    }

    pub(super) fn committed(
        &self,
        offsets: &[(PartitionId, i64)],
    ) -> Vec<OffsetCommitRequestTopic> {
        let partition = |(partition, offset): &(PartitionId, i64)| {
            OffsetCommitRequestPartition::default()
                .with_partition_index(index(*partition))
                .with_committed_offset(*offset)
                .with_committed_metadata(Some(StrBytes::default()))
        };
        let committed = |topic: StrBytes| {
            OffsetCommitRequestTopic::default()
                .with_name(topic.into())
                .with_partitions(offsets.iter().map(partition).collect())
        };
        [self.topic.clone(), OFFSETS].map(committed).into()
    }

    /// The first refusal on the ledger, or the highest offset of each partition that has one.
    pub(super) fn offsets(&self, it: &OffsetFetchResponse) -> Option<Response> {
        let ledger = it.topics.iter().find(|topic| topic.name.as_str() == self.topic.as_str())?;
        let codes = ledger.partitions.iter().map(|it| it.error_code);
        if let Some(refusal) = [it.error_code].into_iter().chain(codes).find_map(refused) {
            return Some(refusal);
        }
        let set = |it: &&OffsetFetchResponsePartition| {
            it.error_code == 0 && it.committed_offset > NO_OFFSET
        };
        let mut last = ByPartition::new();
        for it in it.topics.iter().flat_map(|topic| &topic.partitions).filter(set) {
            let partition = PartitionId(u32::try_from(it.partition_index).ok()?);
            let offset = last.entry(partition).or_insert(it.committed_offset);
            *offset = it.committed_offset.max(*offset);
        }
        Some(Response::Offsets(last))
    }

    /// The first refusal of a partition of the ledger; none if all are missing.
    pub(super) fn acknowledged(&self, it: &OffsetCommitResponse) -> Option<Response> {
        let of = |name: &str| it.topics.iter().find(|topic| topic.name.as_str() == name);
        let ledger = &of(self.topic.as_str())?.partitions;
        ledger.first()?;
        if let Some(refusal) = ledger.iter().find_map(|partition| refused(partition.error_code)) {
            return Some(refusal);
        }
        let mut outliving = of(OFFSETS.as_str()).into_iter().flat_map(|topic| &topic.partitions);
        if let Some(refusal) = outliving.find_map(|it| Refusal::from_code(it.error_code)) {
            self.forgetful.call_once(|| {
                tracing::warn!(
                    %refusal,
                    "The group forgets fences when the ledger's topic is deleted: this member can \
                     commit none under __consumer_offsets. It needs the right Read on that topic, \
                     which must have as many partitions as the ledger."
                );
            });
        }
        Some(Response::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kafka_protocol::messages::offset_commit_response::{
        OffsetCommitResponsePartition, OffsetCommitResponseTopic,
    };
    use kafka_protocol::messages::offset_fetch_response::OffsetFetchResponseTopic;
    use tandem_facts::ids::ConsumerGroup;

    fn speaker() -> Speaker {
        let group: ConsumerGroup = "g".parse().unwrap();
        let topic = StrBytes::from_static_str("t");
        Speaker { topic, ..Speaker::of_group("m".to_owned(), &group) }
    }

    /// A topic, and of each partition from 0 on its offset and the error.
    fn read(name: StrBytes, of: &[(i64, i16)]) -> OffsetFetchResponseTopic {
        let partition = |(partition, (offset, code)): (i32, &(i64, i16))| {
            OffsetFetchResponsePartition::default()
                .with_partition_index(partition)
                .with_committed_offset(*offset)
                .with_error_code(*code)
        };
        let partitions = (0..).zip(of).map(partition).collect();
        OffsetFetchResponseTopic::default().with_name(name.into()).with_partitions(partitions)
    }

    fn offsets(ledger: &[(i64, i16)], outliving: &[(i64, i16)]) -> Option<Response> {
        let ledger = read(StrBytes::from_static_str("t"), ledger);
        // Brokers may answer in any order.
        let topics = vec![read(OFFSETS, outliving), ledger];
        speaker().offsets(&OffsetFetchResponse::default().with_topics(topics))
    }

    #[test]
    fn the_later_one_of_both_counts() {
        let found =
            offsets(&[(7, 0), (-1, 0), (3, 0), (-1, 0)], &[(6, 0), (9, 0), (4, 0), (-1, 0)]);
        let last = [(0, 7), (1, 9), (2, 4)].map(|(k, it)| (PartitionId(k), it));
        assert_eq!(found, Some(Response::Offsets(last.into())));
    }

    #[test]
    fn a_member_does_without_the_second() {
        let denied = [(-1, 29), (-1, 29)];
        let found = offsets(&[(7, 0), (-1, 0)], &denied);
        assert_eq!(found, Some(Response::Offsets([(PartitionId(0), 7)].into())));
        let found = offsets(&denied, &[(7, 0), (8, 0)]);
        assert!(matches!(found, Some(Response::Refused { .. })), "{found:?}");
    }

    fn acknowledged(ledger: i16, outliving: i16) -> Option<Response> {
        let topic = |name: StrBytes, code| {
            let partition = OffsetCommitResponsePartition::default().with_error_code(code);
            OffsetCommitResponseTopic::default()
                .with_name(name.into())
                .with_partitions(vec![partition])
        };
        let topics = vec![topic(OFFSETS, outliving), topic(StrBytes::from_static_str("t"), ledger)];
        speaker().acknowledged(&OffsetCommitResponse::default().with_topics(topics))
    }

    #[test]
    fn a_commit_counts_that_the_ledger_s_partition_acknowledges() {
        assert_eq!(acknowledged(0, 0), Some(Response::Done));
        assert_eq!(acknowledged(0, 3), Some(Response::Done));
        let refused = acknowledged(22, 0);
        assert!(matches!(refused, Some(Response::Refused { .. })), "{refused:?}");
    }

    #[test]
    fn each_fence_is_committed_and_read_in_two_places() {
        let speaker = speaker();
        let pairs = [(PartitionId(0), 5), (PartitionId(3), 6)];
        let committed = speaker.committed(&pairs);
        let names: Vec<_> = committed.iter().map(|it| it.name.to_string()).collect();
        assert_eq!(names, ["t", "__consumer_offsets"]);
        assert_eq!(committed[0].partitions, committed[1].partitions);
        let asked = speaker.asked(&[PartitionId(0), PartitionId(3)]);
        let asked: Vec<_> = asked.iter().map(|it| &it.partition_indexes).collect();
        assert_eq!(asked, [&vec![0, 3], &vec![0, 3]]);
    }
}
