//! A member's consumer: it receives messages and the group's assignments.

use std::collections::BTreeSet;
use std::error::Error as StdError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rdkafka::client::OAuthToken;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext, RebalanceProtocol};
use rdkafka::error::{KafkaError as Error, KafkaResult, RDKafkaErrorCode};
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{ClientContext, Message, Offset, Timestamp, TopicPartitionList};

use super::bell::Bell;
use super::error_log::ErrorLog;
use super::mark::{Named, advertised, author, named, sent_by, stated};
use super::{Cluster, ConsumerSettings, KafkaError};
use tandem_facts::ids::{PartitionId, TopicName};
use tandem_facts::time::{Mono, Wall};
use tandem_neli::{Assignment, Author, Heard, Membership, Statement};

/// The longest wait for the leaders of partitions, once in the life of a member.
const LOOK_UP: Duration = Duration::from_millis(200);

/// A consumer in a group, subscribed to one topic.
pub struct Consumer {
    inner: BaseConsumer<Rebalances>,
    bootstrap: String,
    /// As its own messages bear it.
    life: String,
    wake: Duration,
    woken: Mono,
    /// Whether it was made to hold partitions before, so that it knows their leaders.
    looked_up: bool,
    topic: TopicName,
    /// Read in addition to what the group assigns.
    direct: Option<PartitionId>,
    /// What it reads if it is in no group itself.
    reads: BTreeSet<PartitionId>,
    /// Wakes a wait for messages.
    bell: Option<Arc<Bell>>,
}

/// A message of the ledger.
#[derive(Debug)]
pub struct Delivered {
    /// Where, and when this life sent it if it did.
    pub heard: Heard,
    /// Where in its partition.
    pub offset: i64,
    /// When the broker appended it, by its own clock; none where the topic has the sender's time.
    pub stamp: Option<Wall>,
    /// What its sender says of its versions.
    pub author: Option<Author>,
    /// What its sender names.
    pub named: Named,
    /// What its sender states about itself, on the partition that all members read.
    pub statement: Option<Statement>,
    /// Where the sender offers its service, if it states something and says so.
    pub service: Option<String>,
}

/// Collects assignment changes. The callback runs inside `poll`, on the polling thread, which then
/// takes the changes: they are never more than those of one poll.
struct Rebalances {
    /// Whether the client itself is in the group.
    subscribed: bool,
    state: Mutex<State>,
    errors: ErrorLog,
}

#[derive(Default)]
struct State {
    held: Vec<PartitionId>,
    changes: Vec<Membership>,
}

impl Consumer {
    /// Subscribes. The consumer joins the group while [`heard`](Self::heard) is called.
    ///
    /// # Errors
    /// The client's refusal of its configuration or subscription.
    pub fn subscribe(cluster: &Cluster, settings: &ConsumerSettings) -> Result<Self, KafkaError> {
        let consumer = Self::new(cluster, settings, true)?;
        let refused = |source| cluster.refused(source);
        consumer.inner.subscribe(&[settings.topic.as_str()]).map_err(refused)?;
        Ok(consumer)
    }

    /// A consumer that is in no group and reads what it is made to [`hold`](Self::hold).
    ///
    /// # Errors
    /// The client's refusal of its configuration.
    pub fn apart(cluster: &Cluster, settings: &ConsumerSettings) -> Result<Self, KafkaError> {
        Self::new(cluster, settings, false)
    }

    fn new(
        cluster: &Cluster,
        settings: &ConsumerSettings,
        subscribed: bool,
    ) -> Result<Self, KafkaError> {
        let refused = |source| cluster.refused(source);
        let (config, redaction) = cluster.consumer(settings)?;
        let errors = ErrorLog::new(redaction);
        let context = Rebalances { subscribed, state: Mutex::default(), errors };
        let inner: BaseConsumer<Rebalances> =
            config.create_with_context(context).map_err(refused)?;
        cluster.introduce(&inner);
        let (bootstrap, life) = (cluster.bootstrap.clone(), settings.life.to_string());
        let (topic, wake, direct) = (settings.topic.clone(), settings.wake, settings.direct);
        let (looked_up, woken) = (false, Mono::ZERO);
        let (reads, bell) = (BTreeSet::new(), None);
        Ok(Self { inner, bootstrap, life, wake, woken, looked_up, topic, direct, reads, bell })
    }

    /// From now on a ring ends a wait for messages, and a message rings.
    pub(crate) fn wake_by(&mut self, bell: &Arc<Bell>) {
        let rung = Arc::clone(bell);
        self.inner.set_nonempty_callback(move || rung.ring());
        self.bell = Some(Arc::clone(bell));
    }

    /// Whether the client itself is in the group.
    fn is_subscribed(&self) -> bool {
        self.inner.context().subscribed
    }

    /// Reads these partitions from now on, beside the one that it always reads: a new one from its
    /// end. One that it reads already it goes on reading without a break: the client begins every
    /// partition of a whole assignment again, and that can take it a second ("outdated offset
    /// response" in `rdkafka_partition.c`, "queued.min.messages exceeded" in `rdkafka_fetcher.c`),
    /// in which a member would not hear that others lead.
    pub fn hold(&mut self, partitions: &[PartitionId]) {
        let wanted: BTreeSet<_> = partitions.iter().copied().chain(self.direct).collect();
        if !wanted.is_empty() && !self.looked_up {
            // Without a known leader librdkafka asks for the end of a partition 500 ms later
            // (`rd_kafka_toppar_offset_retry`). If the broker does not answer, it does so anyway.
            let _known = self.inner.fetch_metadata(Some(self.topic.as_str()), LOOK_UP);
            self.looked_up = true;
        }
        let ended = self.list(self.reads.difference(&wanted));
        let new = self.list(wanted.difference(&self.reads));
        if ended.count() == 0 || report(self.inner.incremental_unassign(&ended)) {
            self.reads.retain(|partition| wanted.contains(partition));
        }
        if new.count() == 0 || report(self.inner.incremental_assign(&new)) {
            self.reads.extend(wanted);
        }
    }

    /// The ends of partitions.
    fn list<'a>(&self, partitions: impl Iterator<Item = &'a PartitionId>) -> TopicPartitionList {
        let mut list = TopicPartitionList::new();
        for partition in partitions.filter_map(|partition| i32::try_from(partition.0).ok()) {
            report(list.add_partition_offset(self.topic.as_str(), partition, Offset::End));
        }
        list
    }

    /// The next message, or none after `wait`; it may have any key, value and headers. The changes
    /// of assignment in [`changes`](Self::changes) happened before this message.
    ///
    /// # Errors
    /// An error that the client reports; the client goes on by itself.
    pub fn heard(&mut self, now: Mono, wait: Duration) -> Result<Option<Delivered>, KafkaError> {
        // The classic heartbeat has no timer of its own: librdkafka sends it when its main loop
        // wakes, by default about every 500 ms. A request for the assignment wakes the loop.
        if self.is_subscribed() && now.since(self.woken) >= self.wake {
            self.woken = now;
            let _woken: KafkaResult<TopicPartitionList> = self.inner.assignment();
        }
        let wait = wait.min(self.wake);
        let message = match &self.bell {
            None => self.inner.poll(wait),
            Some(bell) => self.inner.poll(Duration::ZERO).or_else(|| {
                bell.wait(wait);
                self.inner.poll(Duration::ZERO)
            }),
        };
        match message {
            None => Ok(None),
            Some(Ok(message)) => {
                let Some(partition) = partition(message.partition()) else { return Ok(None) };
                let headers = message.headers();
                let sent = headers.and_then(|headers| sent_by(&self.life, headers));
                let (heard, offset) = (Heard { partition, sent }, message.offset());
                let author = headers.and_then(author);
                let named = headers.map(named).unwrap_or_default();
                let headers = headers.filter(|_| self.direct == Some(partition));
                let (statement, service) = (headers.and_then(stated), headers.and_then(advertised));
                let stamp = stamp(message.timestamp());
                Ok(Some(Delivered { heard, offset, stamp, author, named, statement, service }))
            }
            // The topic exists, as provisioning has checked; the broker's metadata lags.
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

    /// The assignment changes since the last call, in order.
    #[must_use]
    pub fn changes(&self) -> Vec<Membership> {
        std::mem::take(&mut self.inner.context().state().changes)
    }

    /// The number of errors that the client has reported, and the latest one.
    #[must_use]
    pub fn errors(&self) -> (u64, Option<String>) {
        self.inner.context().errors.summary()
    }

    /// Leaves the group, so that its partitions move at once. Closing can hang, so the caller has
    /// to bound it.
    pub fn leave(self) {
        if self.is_subscribed() {
            self.inner.unsubscribe();
        }
        drop(self.inner);
    }
}

fn partition(number: i32) -> Option<PartitionId> {
    u32::try_from(number).ok().map(PartitionId)
}

fn stamp(timestamp: Timestamp) -> Option<Wall> {
    match timestamp {
        Timestamp::LogAppendTime(ms) => Some(Wall(ms)),
        Timestamp::CreateTime(_) | Timestamp::NotAvailable => None,
    }
}

impl Rebalances {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn assign(&self, consumer: &BaseConsumer<Self>, list: &mut TopicPartitionList) {
        // `auto.offset.reset` would cost a fixed 100 ms after each assignment.
        let at_end = list.set_all_offsets(Offset::End);
        let done = at_end.and_then(|()| match consumer.rebalance_protocol() {
            RebalanceProtocol::Cooperative => consumer.incremental_assign(list),
            RebalanceProtocol::Eager | RebalanceProtocol::None => consumer.assign(list),
        });
        report(done);
        let mut state = self.state();
        state.held.extend(partitions(list));
        state.held.sort_unstable();
        let partitions = state.held.clone();
        // rdkafka offers no safe way to read the generation or the member id.
        let assignment = Assignment { generation: None, member_id: None, partitions };
        state.changes.push(Membership::Assigned(assignment));
    }

    fn revoke(&self, consumer: &BaseConsumer<Self>, list: &TopicPartitionList) {
        let lost = consumer.assignment_lost();
        report(match consumer.rebalance_protocol() {
            RebalanceProtocol::Cooperative => consumer.incremental_unassign(list),
            RebalanceProtocol::Eager | RebalanceProtocol::None => consumer.unassign(),
        });
        let gone = partitions(list);
        let mut state = self.state();
        state.held.retain(|partition| !gone.contains(partition));
        let change = if lost { Membership::Lost(gone) } else { Membership::Revoked(gone) };
        state.changes.push(change);
    }
}

fn partitions(list: &TopicPartitionList) -> Vec<PartitionId> {
    list.elements().iter().filter_map(|element| partition(element.partition())).collect()
}

/// Whether it was done; if not, the log says why.
fn report(done: KafkaResult<()>) -> bool {
    done.inspect_err(|error| {
        tracing::warn!(%error, "The client refused an assignment; the group will try again.");
    })
    .is_ok()
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
        // The client's assignment changes come by way of its main queue, which wakes no thread. A
        // client that is in no group has none, and a thousand members would spend two processors
        // on looking for them.
        let wait = if self.subscribed { Duration::from_millis(5) } else { Duration::from_secs(1) };
        rdkafka::util::Timeout::After(wait)
    }
}

impl ClientContext for Rebalances {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.errors.log(level, facility, message);
    }
    fn error(&self, error: Error, reason: &str) {
        self.errors.error(error, reason);
    }
    fn generate_oauth_token(&self, config: Option<&str>) -> Result<OAuthToken, Box<dyn StdError>> {
        self.errors.generate_oauth_token(config)
    }
}
