//! ListOffsets: the first and the next offset of a log, and the offset at a time.

use kafka_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use kafka_protocol::messages::{ListOffsetsRequest, ListOffsetsResponse};

use super::error::UNKNOWN_TOPIC_OR_PARTITION;
use super::log::Log;
use super::state::{Call, State};
use tandem_facts::time::Wall;

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;

impl State {
    pub(super) fn list_offsets(
        &self,
        call: &Call<'_>,
        request: &ListOffsetsRequest,
    ) -> ListOffsetsResponse {
        let topics = request.topics.iter().map(|topic| {
            let found = self.topics.get(topic.name.as_str());
            let partitions = topic.partitions.iter().map(|requested| {
                let response = ListOffsetsPartitionResponse::default()
                    .with_partition_index(requested.partition_index);
                match found.and_then(|topic| topic.log(requested.partition_index)) {
                    Some(log) => {
                        let (stamp, offset) = look_up(log, requested.timestamp);
                        // The field exists since version 4; without an offset there is none.
                        let epoch = if call.version < 4 || offset < 0 { -1 } else { 0 };
                        response.with_timestamp(stamp).with_offset(offset).with_leader_epoch(epoch)
                    }
                    None => response.with_error_code(UNKNOWN_TOPIC_OR_PARTITION),
                }
            });
            ListOffsetsTopicResponse::default()
                .with_name(topic.name.clone())
                .with_partitions(partitions.collect())
        });
        ListOffsetsResponse::default().with_topics(topics.collect())
    }
}

/// A timestamp and an offset; -1 is Kafka's value for none.
fn look_up(log: &Log, requested: i64) -> (i64, i64) {
    let found = match requested {
        LATEST => return (-1, log.end()),
        EARLIEST => return (-1, log.start()),
        MAX_TIMESTAMP => log.newest(),
        stamp => log.at_or_after(Wall(stamp)),
    };
    found.map_or((-1, -1), |(stamp, offset)| (stamp.0, offset))
}
