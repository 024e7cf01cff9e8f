//! A broker on a thread, clients as KAFKA.md advises, and patience.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseRecord, Producer, ThreadedProducer};
use rdkafka::topic_partition_list::TopicPartitionListElem;
use tandem::broker::{Broker, BrokerSettings};
use tandem::time::Mono;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// Nothing here takes longer, however loaded the machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Sessions, in milliseconds: one whose end is waited for, and one that does not end.
pub(crate) const SHORT: &str = "1000";
const LONG: &str = "10000";

/// A broker on a thread of its own, which ends with this value.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: CancellationToken,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    pub(crate) fn start() -> Self {
        Self::start_with(BrokerSettings::default())
    }

    pub(crate) fn start_with(settings: BrokerSettings) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let broker = runtime.block_on(Broker::bind(listen, settings)).unwrap();
        let address = broker.address();
        let stop = CancellationToken::new();
        let until = stop.clone();
        let serve = move || runtime.block_on(broker.serve(until));
        Self { address, stop, thread: Some(std::thread::spawn(serve)) }
    }

    /// A broker that this process did not start.
    pub(crate) fn elsewhere(address: SocketAddr) -> Self {
        Self { address, stop: CancellationToken::new(), thread: None }
    }

    pub(crate) fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", self.address.to_string());
        config
    }

    pub(crate) fn create(&self, topic: &NewTopic<'_>) -> Result<(), String> {
        let admin: AdminClient<_> = self.config().create().unwrap();
        let made = runtime().block_on(admin.create_topics([topic], &AdminOptions::new()));
        made.unwrap().remove(0).map(drop).map_err(|(_, code)| code.to_string())
    }

    pub(crate) fn topic(&self, name: &str, partitions: i32) {
        let topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1))
            .set("message.timestamp.type", "LogAppendTime");
        self.create(&topic).unwrap();
    }

    /// A member of the group, set up as KAFKA.md advises. No stall of the host ends its session.
    pub(crate) fn member(&self, group: &str, topic: &str) -> BaseConsumer {
        self.member_with(group, topic, LONG)
    }

    /// The same with this session.
    pub(crate) fn member_with(&self, group: &str, topic: &str, session_ms: &str) -> BaseConsumer {
        let consumer: BaseConsumer = self
            .config()
            .set("group.id", group)
            .set("session.timeout.ms", session_ms)
            .set("heartbeat.interval.ms", "100")
            .set("max.poll.interval.ms", "10000")
            .set("fetch.wait.max.ms", "100")
            .set("partition.assignment.strategy", "roundrobin")
            .set("auto.offset.reset", "earliest")
            .set("enable.auto.commit", "false")
            .create()
            .unwrap();
        consumer.subscribe(&[topic]).unwrap();
        consumer
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Polls until `done` has something to say.
pub(crate) fn eventually<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let began = Mono::now();
    while Mono::now().since(began) < PATIENCE {
        if let Some(value) = done() {
            return value;
        }
    }
    panic!("{what} did not happen within {PATIENCE:?}");
}

pub(crate) fn holds(consumer: &BaseConsumer) -> BTreeSet<i32> {
    consumer
        .assignment()
        .unwrap()
        .elements()
        .iter()
        .map(TopicPartitionListElem::partition)
        .collect()
}

pub(crate) fn send(broker: &Running, topic: &str, partition: i32, payload: &str) {
    let producer: ThreadedProducer<_> = broker.config().create().unwrap();
    let record = BaseRecord::<(), _>::to(topic).partition(partition).payload(payload);
    producer.send(record).map_err(|(error, _)| error).unwrap();
    producer.flush(PATIENCE).unwrap();
}
