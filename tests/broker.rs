//! The embedded broker against real clients on real sockets.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on must fail")]

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseRecord, Producer, ThreadedProducer};
use rdkafka::{Message, Offset, Timestamp, TopicPartitionList};
use tandem::broker::{Broker, Settings};
use tandem::time::{Mono, Wall};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// Nothing here takes longer, however loaded the machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A broker on a thread of its own, which ends with this value.
struct Running {
    address: SocketAddr,
    stop: CancellationToken,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let broker = runtime.block_on(Broker::bind(listen, Settings::default())).unwrap();
        let address = broker.address();
        let stop = CancellationToken::new();
        let until = stop.clone();
        let serve = move || runtime.block_on(broker.serve(until));
        Self { address, stop, thread: Some(std::thread::spawn(serve)) }
    }

    fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", self.address.to_string());
        config
    }

    fn create(&self, topic: &NewTopic<'_>) -> Result<(), String> {
        let admin: AdminClient<_> = self.config().create().unwrap();
        let made = runtime().block_on(admin.create_topics([topic], &AdminOptions::new()));
        made.unwrap().remove(0).map(drop).map_err(|(_, code)| code.to_string())
    }

    fn topic(&self, name: &str, partitions: i32) {
        let topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1))
            .set("message.timestamp.type", "LogAppendTime");
        self.create(&topic).unwrap();
    }

    /// A member of the group, set up as KAFKA.md advises.
    fn member(&self, group: &str, topic: &str) -> BaseConsumer {
        let consumer: BaseConsumer = self
            .config()
            .set("group.id", group)
            .set("session.timeout.ms", "1000")
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
        self.thread.take().unwrap().join().unwrap();
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Polls until `done` has something to say.
fn eventually<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let began = Mono::now();
    while Mono::now().since(began) < PATIENCE {
        if let Some(value) = done() {
            return value;
        }
    }
    panic!("{what} did not happen within {PATIENCE:?}");
}

fn holds(consumer: &BaseConsumer) -> BTreeSet<i32> {
    consumer.assignment().unwrap().elements().iter().map(|e| e.partition()).collect()
}

fn send(broker: &Running, topic: &str, partition: i32, payload: &str) {
    let producer: ThreadedProducer<_> = broker.config().create().unwrap();
    let record = BaseRecord::<(), _>::to(topic).partition(partition).payload(payload);
    producer.send(record).map_err(|(error, _)| error).unwrap();
    producer.flush(PATIENCE).unwrap();
}

#[test]
fn a_group_shares_a_topic_and_outlives_a_member() {
    let broker = Running::start();
    broker.topic("shared", 6);
    let one = broker.member("g", "shared");
    let two = broker.member("g", "shared");
    let poll = |consumer: &BaseConsumer| drop(consumer.poll(Duration::from_millis(20)));
    eventually("an even share", || {
        poll(&one);
        poll(&two);
        let (one, two) = (holds(&one), holds(&two));
        (one.len() == 3 && two.len() == 3 && one.is_disjoint(&two)).then_some(())
    });
    for partition in 0..6 {
        send(&broker, "shared", partition, "beacon");
    }
    let mut heard = BTreeSet::new();
    eventually("a message on each partition", || {
        for consumer in [&one, &two] {
            if let Some(Ok(message)) = consumer.poll(Duration::from_millis(20)) {
                assert!(matches!(message.timestamp(), Timestamp::LogAppendTime(_)));
                assert_eq!(message.payload(), Some(&b"beacon"[..]));
                heard.insert(message.partition());
            }
        }
        (heard.len() == 6).then_some(())
    });
    // Not closed: the broker must find out by itself, as if the process had been killed.
    std::mem::forget(two);
    let silent = Mono::now();
    // `two` still heartbeats from librdkafka's own thread, but it polls no more.
    drop(silent);
}
