//! Reads all partitions of a topic, in no consumer group, and says when all that was there is read.

use std::collections::BTreeMap;
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
    /// All that the partitions had when the tail began was handed out. Said once.
    Caught,
    /// Nothing within the time.
    Nothing,
}

/// Reads a topic.
pub struct Tail {
    inner: BaseConsumer<ErrorLog>,
    cluster: Cluster,
    topic: TopicName,
    /// The partitions of whose past some was not handed out yet, and the offsets where it ends. The
    /// client announces the end of a partition only if it finds nothing there for a moment, which a
    /// topic that is written to all the time never has.
    past: BTreeMap<i32, i64>,
    caught: bool,
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
        cluster.introduce(&inner);
        let failed = cluster.failed(format!("read topic {topic}"));
        let metadata = inner.fetch_metadata(Some(topic.as_str()), LOOK_UP).map_err(&failed)?;
        let found = metadata.topics().iter().find(|found| found.name() == topic.as_str());
        let partitions = found.map(MetadataTopic::partitions).unwrap_or_default();
        if partitions.is_empty() {
            return Ok(None);
        }
        let offset = match from {
            TailFrom::Beginning => Offset::Beginning,
            TailFrom::End => Offset::End,
        };
        let (mut list, mut past) = (TopicPartitionList::new(), BTreeMap::new());
        for partition in partitions.iter().map(MetadataPartition::id) {
            let ends = inner.fetch_watermarks(topic.as_str(), partition, LOOK_UP);
            let (first, end) = ends.map_err(&failed)?;
            if from == TailFrom::Beginning && first < end {
                past.insert(partition, end);
            }
            list.add_partition_offset(topic.as_str(), partition, offset).map_err(&failed)?;
        }
        inner.assign(&list).map_err(failed)?;
        let (cluster, topic) = (cluster.clone(), topic.clone());
        Ok(Some(Self { inner, cluster, topic, past, caught: false }))
    }

    /// What comes next, within `wait`.
    ///
    /// # Errors
    /// An error that the client reports; it goes on by itself.
    pub fn next(&mut self, wait: Duration) -> Result<Tailed, KafkaError> {
        if self.past.is_empty() && !std::mem::replace(&mut self.caught, true) {
            return Ok(Tailed::Caught);
        }
        match self.inner.poll(wait) {
            None => Ok(Tailed::Nothing),
            Some(Ok(message)) => {
                self.past.retain(|partition, end| {
                    *partition != message.partition() || message.offset() + 1 < *end
                });
                Ok(message.payload().map_or(Tailed::Nothing, |it| Tailed::Record(it.to_vec())))
            }
            // The last records of a partition may be none that a client hands out.
            Some(Err(Error::PartitionEOF(partition))) => {
                self.past.remove(&partition);
                Ok(Tailed::Nothing)
            }
            Some(Err(source)) => {
                Err(self.cluster.failed(format!("read topic {}", self.topic))(source))
            }
        }
    }
}
