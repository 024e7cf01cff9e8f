//! The embedded broker against real clients on real sockets.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must fail")]

mod command;
mod limits;
mod support;
mod topics;
mod versions;

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use rdkafka::admin::{
    AdminClient, AdminOptions, NewPartitions, NewTopic, ResourceSpecifier, TopicReplication,
};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseRecord, Producer, ThreadedProducer};
use rdkafka::{Message, Offset, Timestamp, TopicPartitionList};
use support::{PATIENCE, Running, SHORT, eventually, holds, runtime, send};
use tandem::time::{Mono, Wall};

#[test]
fn a_group_shares_a_topic() {
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
}

/// Not a test: the member that the next one kills. Cargo's harness runs it like any other.
#[test]
fn a_member_in_a_process_of_its_own() {
    let Ok(address) = std::env::var("BROKER_OF_THE_VICTIM") else { return };
    let broker = Running::elsewhere(address.parse().unwrap());
    let member = broker.member_with("g", "deadly", SHORT);
    let began = Mono::now();
    while Mono::now().since(began) < PATIENCE {
        drop(member.poll(Duration::from_millis(20)));
        drop(member.assignment());
    }
}

/// When, `tests/data/coordinator/expiry.txt` proves.
#[test]
fn the_partitions_of_a_dead_member_move_after_its_session() {
    let broker = Running::start();
    broker.topic("deadly", 4);
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "embedded::a_member_in_a_process_of_its_own"])
        .env("BROKER_OF_THE_VICTIM", broker.address.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let survivor = broker.member_with("g", "deadly", SHORT);
    let width = |wanted: usize| {
        eventually("an assignment", || {
            drop(survivor.poll(Duration::from_millis(20)));
            (holds(&survivor).len() == wanted).then_some(())
        });
    };
    width(2);
    victim.kill().unwrap();
    victim.wait().unwrap();
    width(4);
}

#[test]
fn the_broker_stamps_only_where_it_is_asked_to() {
    let broker = Running::start();
    broker.topic("stamped", 1);
    broker.create(&NewTopic::new("unstamped", 1, TopicReplication::Fixed(1))).unwrap();
    let before = Wall::now();
    for topic in ["stamped", "unstamped"] {
        let producer: ThreadedProducer<_> = broker.config().create().unwrap();
        let record = BaseRecord::<(), [u8]>::to(topic).partition(0).timestamp(before.0 - 5_000);
        producer.send(record).map_err(|(error, _)| error).unwrap();
        producer.flush(PATIENCE).unwrap();
        let stamp = read_first(&broker, topic);
        match (topic, stamp) {
            ("stamped", Timestamp::LogAppendTime(at)) => {
                assert!((before.0..=Wall::now().0).contains(&at), "{at}");
            }
            ("unstamped", Timestamp::CreateTime(at)) => assert_eq!(at, before.0 - 5_000),
            (topic, stamp) => panic!("{topic}: {stamp:?}"),
        }
    }
}

fn read_first(broker: &Running, topic: &str) -> Timestamp {
    let reader: BaseConsumer = broker.config().set("group.id", "reader").create().unwrap();
    let mut from = TopicPartitionList::new();
    from.add_partition_offset(topic, 0, Offset::Beginning).unwrap();
    reader.assign(&from).unwrap();
    eventually("a message", || {
        let message = reader.poll(Duration::from_millis(20))?.unwrap();
        Some(message.timestamp())
    })
}

#[test]
fn old_messages_go() {
    let broker = Running::start();
    let topic = NewTopic::new("brief", 1, TopicReplication::Fixed(1))
        .set("retention.ms", "200")
        .set("message.timestamp.type", "LogAppendTime");
    broker.create(&topic).unwrap();
    for _ in 0..3 {
        send(&broker, "brief", 0, "x");
    }
    let reader: BaseConsumer = broker.config().create().unwrap();
    eventually("an empty log", || {
        let (low, high) = reader.fetch_watermarks("brief", 0, PATIENCE).unwrap();
        assert_eq!(high, 3);
        (low == 3).then_some(())
    });
}

#[test]
fn a_topic_keeps_its_width() {
    let broker = Running::start();
    broker.topic("narrow", 3);
    let wider = NewTopic::new("narrow", 8, TopicReplication::Fixed(1));
    assert_eq!(
        broker.create(&wider).unwrap_err(),
        "TopicAlreadyExists (Broker: Topic already exists)".to_owned()
    );
    let replicated = NewTopic::new("thrice", 1, TopicReplication::Fixed(3));
    assert_eq!(
        broker.create(&replicated).unwrap_err(),
        "InvalidReplicationFactor (Broker: Invalid replication factor)".to_owned()
    );
    let odd = NewTopic::new("odd", 1, TopicReplication::Fixed(1)).set("retention.eons", "1");
    assert_eq!(
        broker.create(&odd).unwrap_err(),
        "InvalidConfig (Broker: Configuration is invalid)".to_owned()
    );
    let reader: BaseConsumer = broker.config().create().unwrap();
    let metadata = reader.fetch_metadata(Some("narrow"), PATIENCE).unwrap();
    assert_eq!(metadata.topics().first().unwrap().partitions().len(), 3);
    let missing = reader.fetch_metadata(Some("missing"), PATIENCE).unwrap();
    assert!(missing.topics().first().unwrap().error().is_some());
}

#[test]
fn a_topic_can_be_widened_under_a_running_group() {
    let broker = Running::start();
    broker.topic("wider", 2);
    let admin: AdminClient<_> = broker.config().create().unwrap();
    let widen = |width| {
        let wider = NewPartitions::new("wider", width);
        let done = runtime().block_on(admin.create_partitions([&wider], &AdminOptions::new()));
        done.unwrap().remove(0)
    };
    assert_eq!(widen(4), Ok("wider".to_owned()));
    assert!(widen(3).is_err());
    let reader: BaseConsumer = broker.config().create().unwrap();
    let metadata = reader.fetch_metadata(Some("wider"), PATIENCE).unwrap();
    assert_eq!(metadata.topics().first().unwrap().partitions().len(), 4);
    send(&broker, "wider", 3, "x");
}

#[test]
fn settings_can_be_read() {
    let broker = Running::start();
    broker.topic("set", 1);
    let admin: AdminClient<_> = broker.config().create().unwrap();
    let resources = [ResourceSpecifier::Topic("set"), ResourceSpecifier::Broker(1)];
    let described =
        runtime().block_on(admin.describe_configs(&resources, &AdminOptions::new())).unwrap();
    let value = |at: usize, name: &str| {
        let resource = described.get(at).unwrap().as_ref().unwrap();
        resource.get(name).and_then(|entry| entry.value.clone()).unwrap()
    };
    assert_eq!(value(0, "message.timestamp.type"), "LogAppendTime");
    assert_eq!(value(1, "group.min.session.timeout.ms"), "10");
    assert_eq!(value(1, "group.initial.rebalance.delay.ms"), "0");
    assert_eq!(value(1, "group.consumer.session.timeout.ms"), "45000");
    assert_eq!(value(1, "group.consumer.heartbeat.interval.ms"), "5000");
    assert_eq!(value(1, "group.consumer.min.session.timeout.ms"), "10");
}

#[test]
fn offsets_survive_their_consumer_and_groups_can_be_deleted() {
    let broker = Running::start();
    broker.topic("read", 1);
    let consumer = broker.member("bookmark", "read");
    eventually("an assignment", || {
        drop(consumer.poll(Duration::from_millis(20)));
        (holds(&consumer).len() == 1).then_some(())
    });
    let mut offsets = TopicPartitionList::new();
    offsets.add_partition_offset("read", 0, Offset::Offset(42)).unwrap();
    consumer.commit(&offsets, rdkafka::consumer::CommitMode::Sync).unwrap();
    let groups = consumer.fetch_group_list(Some("bookmark"), PATIENCE).unwrap();
    let group = groups.groups().first().unwrap();
    assert_eq!((group.state(), group.members().len()), ("Stable", 1));
    drop(consumer);
    let successor: BaseConsumer = broker.config().set("group.id", "bookmark").create().unwrap();
    let committed = successor.committed_offsets(offsets, PATIENCE).unwrap();
    assert_eq!(committed.elements().first().unwrap().offset(), Offset::Offset(42));
    let admin: AdminClient<_> = broker.config().create().unwrap();
    let deleted =
        runtime().block_on(admin.delete_groups(&["bookmark"], &AdminOptions::new())).unwrap();
    assert_eq!(deleted, [Ok("bookmark".to_owned())]);
}

#[test]
fn an_idempotent_producer_writes_in_order() {
    let broker = Running::start();
    broker.topic("once", 1);
    let producer: ThreadedProducer<_> =
        broker.config().set("enable.idempotence", "true").create().unwrap();
    for number in 0..500 {
        let payload = number.to_string();
        let record = BaseRecord::<(), _>::to("once").partition(0).payload(&payload);
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(PATIENCE).unwrap();
    let reader: BaseConsumer = broker.config().set("group.id", "reader").create().unwrap();
    let mut from = TopicPartitionList::new();
    from.add_partition_offset("once", 0, Offset::Beginning).unwrap();
    reader.assign(&from).unwrap();
    let mut expected = 0;
    eventually("500 messages", || {
        let message = reader.poll(Duration::from_millis(20))?.unwrap();
        assert_eq!(message.payload().unwrap(), expected.to_string().as_bytes());
        expected += 1;
        (expected == 500).then_some(())
    });
}

/// Sends bytes and reads until the broker hangs up; what it said comes back.
fn hang_up(broker: &Running, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(broker.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut heard = Vec::new();
    // A reset is as good as an end: the broker may not have read all that was sent.
    match stream.read_to_end(&mut heard) {
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        read => drop(read.unwrap()),
    }
    heard
}

#[test]
fn nonsense_ends_its_own_connection_and_nothing_else() {
    let broker = Running::start();
    broker.topic("calm", 1);
    let header = |key: i16, version: i16| {
        let mut bytes = Vec::from(key.to_be_bytes());
        bytes.extend(version.to_be_bytes());
        bytes.extend([0, 0, 0, 9, 255, 255]);
        bytes
    };
    let framed = |bytes: Vec<u8>| {
        let mut frame = Vec::from(u32::try_from(bytes.len()).unwrap().to_be_bytes());
        frame.extend(bytes);
        frame
    };
    // An absurd length, a negative one, none worth the name, a text of another protocol.
    for prefix in [[0x7f, 255, 255, 255], [255; 4], [0, 0, 0, 1], *b"GET "] {
        assert_eq!(hang_up(&broker, &prefix), b"");
    }
    // An unknown API; one that is too new; an array of two billion topics.
    assert_eq!(hang_up(&broker, &framed(header(999, 0))), b"");
    assert_eq!(hang_up(&broker, &framed(header(3, 99))), b"");
    let mut many = header(3, 1);
    many.extend([0x7f, 255, 255, 255]);
    assert_eq!(hang_up(&broker, &framed(many)), b"");
    // Half a request, and then silence of the other side for ever.
    let mut half = TcpStream::connect(broker.address).unwrap();
    half.write_all(&[0, 0, 1, 0, 0, 3]).unwrap();
    // Meanwhile others are served.
    send(&broker, "calm", 0, "x");
    assert!(matches!(read_first(&broker, "calm"), Timestamp::LogAppendTime(_)));
    // A newer client that asks for the versions gets a list of them (KIP-35).
    let mut stream = TcpStream::connect(broker.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&framed(header(18, 99))).unwrap();
    let mut answer = [0; 10];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer.last_chunk::<6>(), Some(&[0, 0, 0, 9, 0, 35]));
}
