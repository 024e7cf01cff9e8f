//! Real clients through edges to the embedded broker: they work, they never leave their edges, and
//! what cuts one of them leaves the others.

use std::net::SocketAddr;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;
use rdkafka::producer::{BaseRecord, Producer, ThreadedProducer};
use tandem::broker::{Broker, BrokerSettings};
use tandem::edge::{Direction, Effect};
use tokio_util::sync::CancellationToken;

use crate::proxy::upstream::eventually;
use support::edge::process::{Edges, PATIENCE, rule};

/// An embedded broker on a thread of its own.
pub(crate) struct Embedded {
    pub(crate) address: SocketAddr,
    stop: CancellationToken,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Embedded {
    pub(crate) fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let broker = runtime.block_on(Broker::bind(listen, BrokerSettings::default())).unwrap();
        let (address, stop) = (broker.address(), CancellationToken::new());
        let until = stop.clone();
        let serve = move || runtime.block_on(broker.serve(until));
        Self { address, stop, thread: Some(std::thread::spawn(serve)) }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.stop.cancel();
        self.thread.take().unwrap().join().unwrap();
    }
}

fn config(bootstrap: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("reconnect.backoff.max.ms", "200");
    config
}

fn create(bootstrap: &str, topic: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let admin: AdminClient<_> = config(bootstrap).create().unwrap();
    let topic = NewTopic::new(topic, 4, TopicReplication::Fixed(1));
    let made = runtime.block_on(admin.create_topics([&topic], &AdminOptions::new())).unwrap();
    assert!(made[0].is_ok(), "{made:?}");
}

/// A session that bears a cut on any machine: a member that is thrown out hears again what it has
/// not committed.
const LONG_MS: &str = "20000";
/// One whose end is waited for.
const SHORT_MS: &str = "3000";

fn member(bootstrap: &str, session_ms: &str) -> BaseConsumer {
    let consumer: BaseConsumer = config(bootstrap)
        .set("group.id", "g")
        .set("session.timeout.ms", session_ms)
        .set("heartbeat.interval.ms", "100")
        .set("max.poll.interval.ms", "30000")
        .set("auto.offset.reset", "earliest")
        .set("fetch.wait.max.ms", "100")
        .create()
        .unwrap();
    consumer.subscribe(&["t"]).unwrap();
    consumer
}

fn send(bootstrap: &str, from: u32, count: u32) {
    let producer: ThreadedProducer<_> = config(bootstrap).create().unwrap();
    for number in from..from + count {
        let (key, payload) =
            (number.to_be_bytes(), vec![number as u8; 1 + number as usize % 5_000]);
        let record = BaseRecord::to("t").key(&key).payload(&payload).partition(number as i32 % 4);
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(PATIENCE).unwrap();
}

/// Reads so many messages, each with what was sent, each partition in order.
fn receive(consumer: &BaseConsumer, from: u32, count: u32) {
    let mut next = [0, 1, 2, 3].map(|at| (from..).find(|number| number % 4 == at).unwrap());
    let mut left = count;
    eventually("all messages", || {
        let Some(message) = consumer.poll(Duration::from_millis(100)) else { return left == 0 };
        let message = message.unwrap();
        let number = u32::from_be_bytes(message.key().unwrap().try_into().unwrap());
        let expected = &mut next[message.partition() as usize];
        assert_eq!(number, *expected);
        *expected += 4;
        assert_eq!(message.payload().unwrap(), vec![number as u8; 1 + number as usize % 5_000]);
        left -= 1;
        left == 0
    });
}

/// The addresses that a client has learned.
fn brokers(consumer: &BaseConsumer) -> Vec<String> {
    let metadata = consumer.fetch_metadata(None, PATIENCE).unwrap();
    let at =
        |broker: &rdkafka::metadata::MetadataBroker| format!("{}:{}", broker.host(), broker.port());
    metadata.brokers().iter().map(at).collect()
}

#[test]
fn clients_work_through_their_edges_and_never_leave_them() {
    let (mut edges, broker) = (Edges::start(), Embedded::start());
    let real = broker.address.to_string();
    let [one, other] = ["p1-1", "p1-2"].map(|client| edges.open(client, &real));
    create(&one, "t");
    let consumer = member(&one, LONG_MS);
    send(&other, 0, 2_000);
    receive(&consumer, 0, 2_000);
    assert_eq!(brokers(&consumer), std::slice::from_ref(&one));
    assert_eq!(brokers(&member(&other, LONG_MS)), [other]);

    edges.put("k", rule("p1-1", Direction::Both, &[], Effect::Stall));
    assert!(consumer.poll(Duration::from_millis(300)).is_none());
    edges.heal("k");
    assert_eq!(edges.passed(), ("1.k".to_owned(), real.clone()));
    send(&one, 2_000, 400);
    receive(&consumer, 2_000, 400);
    drop(consumer);
    edges.close();
    eventually("its end", || !edges.lives());
}

#[test]
fn a_member_whose_heartbeats_alone_are_lost_is_thrown_out_and_still_fetches() {
    let (mut edges, broker) = (Edges::start(), Embedded::start());
    let real = broker.address.to_string();
    let [one, other] = ["p1-1", "p1-2"].map(|client| edges.open(client, &real));
    create(&one, "t");
    let (cut, whole) = (member(&one, SHORT_MS), member(&other, SHORT_MS));
    let holds = |consumer: &BaseConsumer| {
        drop(consumer.poll(Duration::from_millis(20)));
        consumer.assignment().unwrap().count()
    };
    eventually("a share each", || (holds(&cut), holds(&whole)) == (2, 2));
    // Heartbeats, and the joins by which it would come back.
    edges.put("k", rule("p1-1", Direction::Both, &[11, 12, 14], Effect::Drop));
    eventually("all for the other", || {
        drop(cut.poll(Duration::from_millis(1)));
        holds(&whole) == 4
    });
    let watermarks = cut.fetch_watermarks("t", 0, PATIENCE);
    assert_eq!(watermarks.unwrap(), (0, 0), "what is not cut goes on");
    edges.heal("k");
    eventually("a share each again", || (holds(&cut), holds(&whole)) == (2, 2));
    assert_eq!(edges.passed(), ("1.k".to_owned(), real));
}
