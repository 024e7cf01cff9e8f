//! DescribeLogDirs (KIP-113): how much memory each log takes. There is one folder, the memory.

use kafka_protocol::messages::describe_log_dirs_response::{
    DescribeLogDirsPartition, DescribeLogDirsResult, DescribeLogDirsTopic,
};
use kafka_protocol::messages::{DescribeLogDirsRequest, DescribeLogDirsResponse};

use super::log::Log;
use super::state::{State, text};
use super::topic::Topic;

/// The name of the only folder.
const FOLDER: &str = "memory";

impl State {
    pub(super) fn describe_log_dirs(
        &self,
        request: &DescribeLogDirsRequest,
    ) -> DescribeLogDirsResponse {
        let topics = match &request.topics {
            None => self.topics.iter().map(|(name, topic)| described(name, topic, None)).collect(),
            Some(wanted) => {
                let found = wanted.iter().filter_map(|one| {
                    let topic = self.topics.get(one.topic.as_str())?;
                    Some(described(one.topic.as_str(), topic, Some(&one.partitions)))
                });
                found.collect()
            }
        };
        let held: usize = self.topics.values().flat_map(Topic::logs).map(Log::bytes).sum();
        let most = self.settings.log_bytes_max;
        let folder = DescribeLogDirsResult::default()
            .with_log_dir(text(FOLDER))
            .with_topics(topics)
            .with_total_bytes(bytes(most))
            .with_usable_bytes(bytes(most.saturating_sub(held)));
        DescribeLogDirsResponse::default().with_results(vec![folder])
    }
}

/// The wanted partitions of a topic, or all of them.
fn described(name: &str, topic: &Topic, wanted: Option<&[i32]>) -> DescribeLogDirsTopic {
    let logs = (0..).zip(topic.logs());
    let logs = logs.filter(|(index, _)| wanted.is_none_or(|wanted| wanted.contains(index)));
    let partitions = logs.map(|(index, log)| {
        DescribeLogDirsPartition::default()
            .with_partition_index(index)
            .with_partition_size(bytes(log.bytes()))
    });
    DescribeLogDirsTopic::default()
        .with_name(text(name).into())
        .with_partitions(partitions.collect())
}

fn bytes(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
