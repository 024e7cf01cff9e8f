//! Reads all partitions of a topic, in no consumer group, and says when it has reached their ends.

use std::collections::BTreeSet;
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError as Error;
use rdkafka::metadata::{MetadataPartition, MetadataTopic};
use rdkafka::{Message, Offset, TopicPartitionList};

use super::error_log::ErrorLog;
use super::{Cluster, KafkaError};
use tandem_facts::ids::TopicName;

/// How long a cluster may take to name the partitions.
const LOOK_UP: Duration = Duration::from_secs(2);

/// Where a tail begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TailFrom {
    /// With the oldest record that the topic still has.
    Beginning,
    /// With the next record.
    End,
}

/// What a tail has found.
#[derive(Debug)]
pub enum Tailed {
    /// A record's value; records without one are left out.
    Record(Vec<u8>),
    /// The ends of all partitions were reached. Said once.
    Caught,
    /// Nothing within the time.
    Nothing,
}

/// Reads a topic.
pub struct Tail {
    inner: BaseConsumer<ErrorLog>,
    cluster: Cluster,
    topic: TopicName,
    /// The partitions whose ends were not reached yet.
    ahead: BTreeSet<i32>,
}

impl Tail {
    /// Reads `topic` from there on; none if the topic does not exist.
    ///
    /// # Errors
    /// The cluster does not answer, or the client refuses its configuration.
    pub fn open(
        cluster: &Cluster,
        topic: &TopicName,
        from: TailFrom,
    ) -> Result<Option<Self>, KafkaError> {
        let (mut config, errors) = cluster.asking()?;
        // librdkafka takes assignments only with a group, whose coordinator it asks for nothing
        // else.
        config.set("group.id", topic.as_str()).set("enable.auto.commit", "false");
        config.set("enable.partition.eof", "true").set("auto.offset.reset", "earliest");
        config.set("fetch.wait.max.ms", "100").set("fetch.error.backoff.ms", "20");
        let inner: BaseConsumer<ErrorLog> =
            config.create_with_context(errors).map_err(|error| cluster.refused(error))?;
        let failed = cluster.failed(format!("read topic {topic}"));
        let metadata = inner.fetch_metadata(Some(topic.as_str()), LOOK_UP).map_err(&failed)?;
        let found = metadata.topics().iter().find(|found| found.name() == topic.as_str());
        let partitions = found.map(MetadataTopic::partitions).unwrap_or_default();
        let ahead: BTreeSet<i32> = partitions.iter().map(MetadataPartition::id).collect();
        if ahead.is_empty() {
            return Ok(None);
        }
        let offset = match from {
            TailFrom::Beginning => Offset::Beginning,
            TailFrom::End => Offset::End,
        };
        let mut list = TopicPartitionList::new();
        for partition in &ahead {
            list.add_partition_offset(topic.as_str(), *partition, offset).map_err(&failed)?;
        }
        inner.assign(&list).map_err(failed)?;
        Ok(Some(Self { inner, cluster: cluster.clone(), topic: topic.clone(), ahead }))
    }

    /// What comes next, within `wait`.
    ///
    /// # Errors
    /// An error that the client reports; it goes on by itself.
    pub fn next(&mut self, wait: Duration) -> Result<Tailed, KafkaError> {
        match self.inner.poll(wait) {
            None => Ok(Tailed::Nothing),
            Some(Ok(message)) => {
                Ok(message.payload().map_or(Tailed::Nothing, |it| Tailed::Record(it.to_vec())))
            }
            Some(Err(Error::PartitionEOF(partition))) => {
                let last = self.ahead.remove(&partition) && self.ahead.is_empty();
                Ok(if last { Tailed::Caught } else { Tailed::Nothing })
            }
            Some(Err(source)) => {
                Err(self.cluster.failed(format!("read topic {}", self.topic))(source))
            }
        }
    }
}
