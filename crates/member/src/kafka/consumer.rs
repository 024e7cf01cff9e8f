//! A member's consumer: what it heard, and what the group told it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext, RebalanceProtocol};
use rdkafka::error::{KafkaError as Error, KafkaResult, RDKafkaErrorCode};
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{ClientContext, Message, Offset, TopicPartitionList};

use super::voice::Voice;
use super::{Cluster, ConsumerSettings, KafkaError};
use tandem_facts::ids::{PartitionId, TopicName};
use tandem_facts::time::{Mono, Wall};
use tandem_neli::{Assignment, Membership};

/// One message: any key, value and headers are tolerated, and none is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// Where.
    pub partition: PartitionId,
    /// The broker's (or the producer's) time stamp; the epoch where there is none.
    pub stamp: Wall,
}

/// A consumer in a group, subscribed to one topic.
pub struct Consumer {
    inner: BaseConsumer<Rebalances>,
    bootstrap: String,
    wake: Duration,
    woken: Mono,
    /// Whether the client itself is in the group.
    subscribed: bool,
    topic: TopicName,
}

/// What the group told since it was last asked. The callback runs inside `poll`, on the thread that
/// polls, which then empties this: it never holds more than one poll's worth.
struct Rebalances {
    told: Mutex<Told>,
    voice: Voice,
}

#[derive(Default)]
struct Told {
    held: Vec<PartitionId>,
    changes: Vec<Membership>,
}

impl Consumer {
    /// Subscribes; the group is joined while [`heard`](Self::heard) is called.
    ///
    /// # Errors
    /// The client's refusal of its configuration or subscription.
    pub fn subscribe(cluster: &Cluster, settings: &ConsumerSettings) -> Result<Self, KafkaError> {
        let consumer = Self::apart(cluster, settings)?;
        let refused = |source| cluster.refused(source);
        consumer.inner.subscribe(&[settings.topic.as_str()]).map_err(refused)?;
        Ok(Self { subscribed: true, ..consumer })
    }

    /// A consumer that is in no group and reads what it is made to [`hold`](Self::hold).
    ///
    /// # Errors
    /// The client's refusal of its configuration.
    pub fn apart(cluster: &Cluster, settings: &ConsumerSettings) -> Result<Self, KafkaError> {
        let refused = |source| cluster.refused(source);
        let (config, veil) = cluster.consumer(settings)?;
        let context = Rebalances { told: Mutex::default(), voice: Voice::new(veil) };
        let inner: BaseConsumer<Rebalances> =
            config.create_with_context(context).map_err(refused)?;
        let (bootstrap, wake) = (cluster.bootstrap.clone(), settings.wake);
        let topic = settings.topic.clone();
        Ok(Self { inner, bootstrap, wake, woken: Mono::ZERO, subscribed: false, topic })
    }

    /// Reads these partitions from now on, and no others: a new one from its end, one that was read
    /// before from where that was.
    pub fn hold(&mut self, partitions: &[PartitionId]) {
        let mut list = TopicPartitionList::new();
        let read = self.inner.position().unwrap_or_default();
        for partition in partitions {
            let Ok(number) = i32::try_from(partition.0) else { continue };
            let before = read.find_partition(self.topic.as_str(), number);
            let offset = match before.map(|element| element.offset()) {
                Some(Offset::Offset(offset)) => Offset::Offset(offset),
                Some(_) | None => Offset::End,
            };
            report(list.add_partition_offset(self.topic.as_str(), number, offset));
        }
        report(self.inner.assign(&list));
    }

    /// The next message, or nothing after `wait`. What the group told meanwhile is in
    /// [`changes`](Self::changes), and came before the message.
    ///
    /// # Errors
    /// What the client reports; it goes on by itself.
    pub fn heard(&mut self, now: Mono, wait: Duration) -> Result<Option<Heard>, KafkaError> {
        // A classic heartbeat has no timer of its own: it leaves when the client's main loop wakes,
        // by itself in steps of about 500 ms. Asking for the assignment wakes it.
        if self.subscribed && now.since(self.woken) >= self.wake {
            self.woken = now;
            let _woken: KafkaResult<TopicPartitionList> = self.inner.assignment();
        }
        match self.inner.poll(wait.min(self.wake)) {
            None => Ok(None),
            Some(Ok(message)) => {
                let stamp = Wall(message.timestamp().to_millis().unwrap_or(0));
                Ok(partition(message.partition()).map(|partition| Heard { partition, stamp }))
            }
            // The topic is there (provisioning saw it), only the broker's metadata lags.
            Some(Err(Error::MessageConsumption(RDKafkaErrorCode::UnknownTopicOrPartition))) => {
                Ok(None)
            }
            Some(Err(source)) => Err(KafkaError::Request {
                cluster: self.bootstrap.clone(),
                act: "deliver messages".to_owned(),
                source: Box::new(source),
            }),
        }
    }

    /// What the group told since the last call, in order.
    #[must_use]
    pub fn changes(&self) -> Vec<Membership> {
        std::mem::take(&mut self.inner.context().describe().changes)
    }

    /// How often the client has complained, and of what last.
    #[must_use]
    pub fn complaints(&self) -> (u64, Option<String>) {
        self.inner.context().voice.complaints()
    }

    /// Leaves the group, so that its partitions move at once. Closing can hang: the caller bounds
    /// it.
    pub fn leave(self) {
        if self.subscribed {
            self.inner.unsubscribe();
        }
        drop(self.inner);
    }
}

fn partition(number: i32) -> Option<PartitionId> {
    u32::try_from(number).ok().map(PartitionId)
}

impl Rebalances {
    fn describe(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn assign(&self, consumer: &BaseConsumer<Self>, list: &mut TopicPartitionList) {
        // `auto.offset.reset` would cost a fixed 100 ms after each assignment.
        let at_end = list.set_all_offsets(Offset::End);
        let done = at_end.and_then(|()| match consumer.rebalance_protocol() {
            RebalanceProtocol::Cooperative => consumer.incremental_assign(list),
            RebalanceProtocol::Eager | RebalanceProtocol::None => consumer.assign(list),
        });
        report(done);
        let mut told = self.describe();
        told.held.extend(partitions(list));
        told.held.sort_unstable();
        let partitions = told.held.clone();
        // rdkafka has no safe way to learn the generation or the member id.
        let assignment = Assignment { generation: None, member_id: None, partitions };
        told.changes.push(Membership::Assigned(assignment));
    }

    fn revoke(&self, consumer: &BaseConsumer<Self>, list: &TopicPartitionList) {
        let lost = consumer.assignment_lost();
        report(match consumer.rebalance_protocol() {
            RebalanceProtocol::Cooperative => consumer.incremental_unassign(list),
            RebalanceProtocol::Eager | RebalanceProtocol::None => consumer.unassign(),
        });
        let gone = partitions(list);
        let mut told = self.describe();
        told.held.retain(|partition| !gone.contains(partition));
        let change = if lost { Membership::Lost(gone) } else { Membership::Revoked(gone) };
        told.changes.push(change);
    }
}

fn partitions(list: &TopicPartitionList) -> Vec<PartitionId> {
    list.elements().iter().filter_map(|element| partition(element.partition())).collect()
}

fn report(done: KafkaResult<()>) {
    if let Err(error) = done {
        tracing::warn!(%error, "The client refused an assignment; the group will try again.");
    }
}

impl ConsumerContext for Rebalances {
    fn rebalance(
        &self,
        consumer: &BaseConsumer<Self>,
        event: RDKafkaRespErr,
        list: &mut TopicPartitionList,
    ) {
        if event == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
            self.assign(consumer, list);
        } else {
            self.revoke(consumer, list);
        }
    }

    fn main_queue_min_poll_interval(&self) -> rdkafka::util::Timeout {
        // The default, a second, would delay what the group tells.
        rdkafka::util::Timeout::After(Duration::from_millis(5))
    }
}

impl ClientContext for Rebalances {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.voice.log(level, facility, message);
    }
    fn error(&self, error: Error, reason: &str) {
        self.voice.error(error, reason);
    }
}
