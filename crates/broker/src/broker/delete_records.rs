//! DeleteRecords (KIP-107): moves the start of a log forward.

use kafka_protocol::messages::delete_records_response::{
    DeleteRecordsPartitionResult, DeleteRecordsTopicResult,
};
use kafka_protocol::messages::{DeleteRecordsRequest, DeleteRecordsResponse};

use super::error::{OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION};
use super::state::State;

/// Kafka's value for the end of the log.
const ALL: i64 = -1;

impl State {
    pub(super) fn delete_records(
        &mut self,
        request: DeleteRecordsRequest,
    ) -> DeleteRecordsResponse {
        let mut topics = Vec::with_capacity(request.topics.len());
        for topic in request.topics {
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for requested in topic.partitions {
                let index = requested.partition_index;
                let start = self.start_at(topic.name.as_str(), index, requested.offset);
                let result = DeleteRecordsPartitionResult::default().with_partition_index(index);
                partitions.push(match start {
                    Ok(start) => result.with_low_watermark(start),
                    Err(error) => result.with_error_code(error).with_low_watermark(-1),
                });
            }
            topics.push(
                DeleteRecordsTopicResult::default()
                    .with_name(topic.name)
                    .with_partitions(partitions),
            );
        }
        DeleteRecordsResponse::default().with_topics(topics)
    }

    /// Deletes what is before `offset`. Returns the first offset that is left.
    fn start_at(&mut self, name: &str, partition: i32, offset: i64) -> Result<i64, i16> {
        let topic = self.topics.get_mut(name).ok_or(UNKNOWN_TOPIC_OR_PARTITION)?;
        let log = topic.log_mut(partition).ok_or(UNKNOWN_TOPIC_OR_PARTITION)?;
        let offset = if offset == ALL { log.end() } else { offset };
        if !(0..=log.end()).contains(&offset) {
            return Err(OFFSET_OUT_OF_RANGE);
        }
        log.start_at(offset);
        Ok(log.start())
    }
}
