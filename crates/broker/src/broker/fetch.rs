//! Fetch: sends batches at once, or as soon as there are enough.

use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::{FetchableTopicResponse, PartitionData};
use kafka_protocol::messages::{BrokerId, FetchRequest, FetchResponse};

use super::error::{
    FETCH_SESSION_ID_NOT_FOUND, OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION,
};
use super::hub::Hub;
use super::log::Log;
use super::state::{Call, Caller, State};
use crate::wire::FRAME_BYTES_MAX;
use tandem_facts::time::Mono;

/// Waits for `min_bytes` or `max_wait_ms`, whichever comes first. Errors are answered at once.
pub(super) async fn fetch(hub: &Hub, call: &Call<'_>, request: &FetchRequest) -> FetchResponse {
    // The broker keeps no fetch sessions (KIP-227): it answers a full fetch with session 0, and any
    // other session with FETCH_SESSION_ID_NOT_FOUND.
    if request.session_id != 0 && request.session_epoch > 0 {
        return FetchResponse::default().with_error_code(FETCH_SESSION_ID_NOT_FOUND);
    }
    let wait = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0));
    let deadline = call.now + wait;
    loop {
        let left = deadline.since(Mono::now());
        let ready = hub.with(|state| {
            if left.is_zero() || state.is_enough(request) {
                return Some(state.read(request));
            }
            state.wait(request, call.caller);
            None
        });
        if let Some(response) = ready {
            return response;
        }
        // Both arms are cancel-safe: the next round checks the logs and the clock.
        tokio::select! {
            () = call.caller.wake.notified() => {}
            () = tokio::time::sleep(left) => {}
        }
    }
}

impl State {
    fn is_enough(&self, request: &FetchRequest) -> bool {
        let least = usize::try_from(request.min_bytes).unwrap_or(0);
        let mut bytes = 0_usize;
        let wanted = || {
            request
                .topics
                .iter()
                .flat_map(|topic| topic.partitions.iter().map(move |requested| (topic, requested)))
        };
        // As in Kafka, a request for no partitions waits, too.
        for (topic, requested) in wanted() {
            let Ok(log) = self.readable(topic, requested) else { return true };
            let most = usize::try_from(requested.partition_max_bytes).unwrap_or(0);
            bytes = bytes.saturating_add(log.available(requested.fetch_offset, most.max(least)));
            if bytes >= least {
                return true;
            }
        }
        least == 0
    }

    fn wait(&mut self, request: &FetchRequest, caller: &Caller) {
        for topic in &request.topics {
            let found = if is_by_id(topic) {
                self.topics.by_id_mut(topic.topic_id)
            } else {
                self.topics.get_mut(topic.topic.as_str())
            };
            let Some(found) = found else { continue };
            for requested in &topic.partitions {
                if let Some(log) = found.log_mut(requested.partition) {
                    log.wait(caller.connection, &caller.wake);
                }
            }
        }
    }

    fn read(&self, request: &FetchRequest) -> FetchResponse {
        let most = usize::try_from(request.max_bytes).unwrap_or(0).min(FRAME_BYTES_MAX);
        let mut left = most;
        let mut topics = Vec::with_capacity(request.topics.len());
        for topic in &request.topics {
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for requested in &topic.partitions {
                let found = self.readable(topic, requested);
                let data = data(requested, found, left, left == most);
                let bytes = data.records.as_ref().map_or(0, Bytes::len);
                left = left.saturating_sub(bytes);
                partitions.push(data);
            }
            topics.push(
                FetchableTopicResponse::default()
                    .with_topic(topic.topic.clone())
                    .with_topic_id(topic.topic_id)
                    .with_partitions(partitions),
            );
        }
        FetchResponse::default().with_responses(topics)
    }

    fn readable(&self, topic: &FetchTopic, requested: &FetchPartition) -> Result<&Log, i16> {
        let topic = if is_by_id(topic) {
            self.topics.by_id(topic.topic_id).ok_or(UNKNOWN_TOPIC_ID)?.1
        } else {
            self.topics.get(topic.topic.as_str()).ok_or(UNKNOWN_TOPIC_OR_PARTITION)?
        };
        let log = topic.log(requested.partition).ok_or(UNKNOWN_TOPIC_OR_PARTITION)?;
        if (log.start()..=log.end()).contains(&requested.fetch_offset) {
            Ok(log)
        } else {
            Err(OFFSET_OUT_OF_RANGE)
        }
    }
}

/// Since version 13 a request has the ids of topics instead of their names.
fn is_by_id(topic: &FetchTopic) -> bool {
    !topic.topic_id.is_nil()
}

/// The answer for one partition. The first batch of the first partition may exceed the limits.
fn data(
    requested: &FetchPartition,
    found: Result<&Log, i16>,
    left: usize,
    first: bool,
) -> PartitionData {
    let data = PartitionData::default()
        .with_partition_index(requested.partition)
        .with_preferred_read_replica(BrokerId(-1))
        .with_aborted_transactions(None);
    match found {
        Ok(log) => {
            let most = usize::try_from(requested.partition_max_bytes).unwrap_or(0).min(left);
            data.with_high_watermark(log.end())
                .with_last_stable_offset(log.end())
                .with_log_start_offset(log.start())
                .with_records(Some(log.read(requested.fetch_offset, most, first)))
        }
        Err(error) => data
            .with_error_code(error)
            .with_high_watermark(-1)
            .with_last_stable_offset(-1)
            .with_log_start_offset(-1)
            .with_records(Some(Bytes::new())),
    }
}
