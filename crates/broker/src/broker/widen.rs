//! CreatePartitions: adds partitions to a topic. It must not be used on the topic of a running
//! group, except by tests of the alarm for it.

use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::create_partitions_response::CreatePartitionsTopicResult;
use kafka_protocol::messages::{BrokerId, CreatePartitionsRequest, CreatePartitionsResponse};

use super::error::{
    INVALID_PARTITIONS, INVALID_REPLICA_ASSIGNMENT, POLICY_VIOLATION, UNKNOWN_TOPIC_OR_PARTITION,
};
use super::state::{Call, NODE, State, text};
use crate::groups::consumer::TopicId;

impl State {
    pub(super) fn create_partitions(
        &mut self,
        call: &Call<'_>,
        request: CreatePartitionsRequest,
    ) -> CreatePartitionsResponse {
        let mut results = Vec::with_capacity(request.topics.len());
        for requested in request.topics {
            let outcome = self.check_width(&requested);
            if let (Ok(width), false) = (&outcome, request.validate_only)
                && let Some(topic) = self.topics.get_mut(requested.name.as_str())
            {
                let name = &*requested.name;
                tracing::info!(topic = %name, partitions = width, "A topic was widened.");
                topic.widen(*width);
                let (id, width) = (TopicId(topic.id.as_u128()), topic.width());
                self.coordinator.handle_topic(call.now, name, id, width);
            }
            let result = CreatePartitionsTopicResult::default().with_name(requested.name);
            results.push(match outcome {
                Ok(_) => result.with_error_message(None),
                Err((code, why)) => {
                    result.with_error_code(code).with_error_message(Some(text(why)))
                }
            });
        }
        CreatePartitionsResponse::default().with_results(results)
    }

    /// The new width, or an error code and its reason.
    fn check_width(&self, requested: &CreatePartitionsTopic) -> Result<usize, (i16, &'static str)> {
        let topic = self.topics.get(requested.name.as_str());
        let topic = topic.ok_or((UNKNOWN_TOPIC_OR_PARTITION, "there is no such topic"))?;
        let old = topic.logs().len();
        let width = usize::try_from(requested.count).unwrap_or(0);
        if width <= old {
            return Err((INVALID_PARTITIONS, "the topic is that wide already"));
        }
        let elsewhere = |assignments: &Vec<
            kafka_protocol::messages::create_partitions_request::CreatePartitionsAssignment,
        >| {
            assignments.len() != width - old
                || assignments.iter().any(|one| one.broker_ids != [BrokerId(NODE)])
        };
        if requested.assignments.as_ref().is_some_and(elsewhere) {
            return Err((INVALID_REPLICA_ASSIGNMENT, "there is one broker"));
        }
        if !self.has_room_for(width - old) {
            return Err((POLICY_VIOLATION, "the broker holds no more partitions"));
        }
        Ok(width)
    }
}
