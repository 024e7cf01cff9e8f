//! Produce and InitProducerId: appends batches.

use kafka_protocol::messages::produce_request::PartitionProduceData;
use kafka_protocol::messages::produce_response::{PartitionProduceResponse, TopicProduceResponse};
use kafka_protocol::messages::{
    InitProducerIdRequest, InitProducerIdResponse, ProduceRequest, ProduceResponse, ProducerId,
};

use super::error::{
    CORRUPT_MESSAGE, INVALID_RECORD, INVALID_REQUIRED_ACKS, MESSAGE_TOO_LARGE,
    UNKNOWN_TOPIC_OR_PARTITION, UNSUPPORTED_VERSION,
};
use super::producers::Verdict;
use super::state::{Call, State};
use crate::wire::{Batch, BatchError};
use tandem_facts::time::Wall;

/// The result of an append: the first offset, the broker's timestamp if there is one, and the log's
/// start.
type Placed = (i64, Option<Wall>, i64);

impl State {
    pub(super) fn produce(&mut self, call: &Call<'_>, request: ProduceRequest) -> ProduceResponse {
        let acks_known = matches!(request.acks, -1..=1);
        let mut responses = Vec::with_capacity(request.topic_data.len());
        for topic in request.topic_data {
            let mut partitions = Vec::with_capacity(topic.partition_data.len());
            for data in topic.partition_data {
                let placed = if acks_known {
                    self.append(topic.name.as_str(), &data, call.wall)
                } else {
                    Err(INVALID_REQUIRED_ACKS)
                };
                partitions.push(describe(data.index, placed));
            }
            responses.push(
                TopicProduceResponse::default()
                    .with_name(topic.name)
                    .with_partition_responses(partitions),
            );
        }
        self.make_room(call.wall);
        ProduceResponse::default().with_responses(responses)
    }

    fn append(
        &mut self,
        name: &str,
        data: &PartitionProduceData,
        wall: Wall,
    ) -> Result<Placed, i16> {
        let topic = self.topics.get_mut(name).ok_or(UNKNOWN_TOPIC_OR_PARTITION)?;
        let most = topic.config.batch_bytes_max.unwrap_or(self.settings.batch_bytes_max);
        let stamp = topic.config.log_append_time.then_some(wall);
        let log = topic.log_mut(data.index).ok_or(UNKNOWN_TOPIC_OR_PARTITION)?;
        let records = data.records.as_deref().unwrap_or_default();
        if records.len() > most {
            return Err(MESSAGE_TOO_LARGE);
        }
        let batch = Batch::parse(records).map_err(|error| match error {
            BatchError::Form | BatchError::Checksum => CORRUPT_MESSAGE,
            BatchError::Count | BatchError::Kind => INVALID_RECORD,
        })?;
        self.appended = self.appended.saturating_add(records.len());
        let (id, epoch) = (batch.producer_id(), batch.producer_epoch());
        let (first, count) = (batch.base_sequence(), batch.count());
        if id < 0 {
            return Ok((log.append(batch, stamp), stamp, log.start()));
        }
        match log.producers.judge(&batch) {
            Verdict::Fresh => {
                let base = log.append(batch, stamp);
                log.producers.remember(id, epoch, first, count, base);
                Ok((base, stamp, log.start()))
            }
            Verdict::Duplicate(base) => Ok((base, stamp, log.start())),
            Verdict::Refused(error) => Err(error),
        }
    }

    pub(super) fn init_producer_id(
        &mut self,
        request: &InitProducerIdRequest,
    ) -> InitProducerIdResponse {
        if request.transactional_id.is_some() {
            return InitProducerIdResponse::default()
                .with_error_code(UNSUPPORTED_VERSION)
                .with_producer_id(ProducerId(-1))
                .with_producer_epoch(-1);
        }
        let id = self.next_producer;
        self.next_producer += 1;
        InitProducerIdResponse::default().with_producer_id(ProducerId(id)).with_producer_epoch(0)
    }
}

fn describe(partition: i32, placed: Result<Placed, i16>) -> PartitionProduceResponse {
    let response = PartitionProduceResponse::default().with_index(partition);
    match placed {
        Ok((base, stamp, start)) => response
            .with_base_offset(base)
            .with_log_append_time_ms(stamp.map_or(-1, |stamp| stamp.0))
            .with_log_start_offset(start),
        Err(error) => {
            response.with_error_code(error).with_base_offset(-1).with_log_append_time_ms(-1)
        }
    }
}
