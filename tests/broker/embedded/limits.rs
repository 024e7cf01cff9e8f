//! What is bounded: memory, connections, waiting.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use kafka_protocol::messages::ApiKey;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::producer::{BaseRecord, Producer, ThreadedProducer};
use rdkafka::{Offset, TopicPartitionList};
use tandem::broker::BrokerSettings;
use tandem::time::Mono;

use crate::embedded::support::{PATIENCE, Running, eventually, holds, send};
use crate::embedded::versions::{Raw, join, text};
use support::samples;

#[test]
fn the_logs_hold_no_more_than_they_may() {
    let broker =
        Running::start_with(BrokerSettings { log_bytes_max: 100_000, ..BrokerSettings::default() });
    broker.topic("full", 2);
    let producer: ThreadedProducer<_> =
        broker.config().set("batch.num.messages", "1").create().unwrap();
    let payload = vec![0; 1_000];
    for _ in 0..300 {
        let record = BaseRecord::<(), _>::to("full").partition(0).payload(&payload);
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(PATIENCE).unwrap();
    let reader: BaseConsumer = broker.config().create().unwrap();
    eventually("a shorter log", || {
        let (low, high) = reader.fetch_watermarks("full", 0, PATIENCE).unwrap();
        assert_eq!(high, 300);
        (200..300).contains(&low).then_some(())
    });
}

#[test]
fn one_connection_too_many_is_closed() {
    let broker =
        Running::start_with(BrokerSettings { connections_max: 2, ..BrokerSettings::default() });
    let mut kept = [Raw::connect(&broker), Raw::connect(&broker)];
    for raw in &mut kept {
        raw.send(&samples::written(ApiKey::Metadata, 1).1);
        drop(raw.receive(ApiKey::Metadata, 1));
    }
    let mut refused = TcpStream::connect(broker.address).unwrap();
    refused.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut heard = Vec::new();
    assert!(!matches!(refused.read_to_end(&mut heard), Ok(1..)));
    // When one goes there is room for another.
    let [one, _other] = kept;
    drop(one);
    eventually("room", || {
        let mut raw = Raw::connect(&broker);
        raw.try_send(&samples::written(ApiKey::Metadata, 1).1).ok()?;
        raw.is_answered().then_some(())
    });
}

#[test]
fn a_fetch_that_waits_is_answered_as_soon_as_there_is_something() {
    let broker = Running::start();
    broker.topic("awaited", 1);
    let reader: BaseConsumer = broker
        .config()
        .set("group.id", "reader")
        // Longer than anything is waited for here.
        .set("fetch.wait.max.ms", "250000")
        .set("socket.timeout.ms", "300000")
        .create()
        .unwrap();
    let mut from = TopicPartitionList::new();
    from.add_partition_offset("awaited", 0, Offset::Beginning).unwrap();
    reader.assign(&from).unwrap();
    // The first message finds the reader wherever it is, the second finds it waiting.
    for _ in 0..2 {
        send(&broker, "awaited", 0, "x");
        eventually("a message", || reader.poll(Duration::from_millis(20))).unwrap();
    }
}

/// How late it is noticed, each measurement of a killed leader shows.
#[test]
fn a_session_ends_when_it_must_and_not_before() {
    let broker = Running::start();
    let group = text("g");
    let mut silent = Raw::connect(&broker);
    let asked = Mono::now(); // clock: an end may be noticed late, and never early
    // Version 3: in at once. The answer to its join is the last that it hears.
    assert_eq!(join(&mut silent, &group, 3, 300).error_code, 0);
    let mut next = Raw::connect(&broker);
    let joined = join(&mut next, &group, 3, 300);
    let most = Mono::now().since(asked); // clock: as above
    assert!(joined.generation_id >= 2, "{joined:?}");
    assert_eq!(joined.members.len(), 1, "the silent one is out: {joined:?}");
    assert!(most >= Duration::from_millis(300), "{most:?} is before the end of the session");
}

#[test]
fn a_static_member_comes_back_to_its_share() {
    let broker = Running::start();
    broker.topic("kept", 4);
    let member = |instance: &str| {
        let consumer: BaseConsumer = broker
            .config()
            .set("group.id", "g")
            .set("group.instance.id", instance)
            // Longer than anything is waited for here.
            .set("session.timeout.ms", "600000")
            .set("heartbeat.interval.ms", "100")
            .set("max.poll.interval.ms", "600000")
            .set("partition.assignment.strategy", "roundrobin")
            .create()
            .unwrap();
        consumer.subscribe(&["kept"]).unwrap();
        consumer
    };
    let poll = |consumer: &BaseConsumer| drop(consumer.poll(Duration::from_millis(20)));
    let (one, two) = (member("one"), member("two"));
    let share = eventually("an even share", || {
        poll(&one);
        poll(&two);
        (holds(&one).len() == 2 && holds(&two).len() == 2).then(|| holds(&two))
    });
    // A static member does not leave when it ends.
    drop(two);
    let again = member("two");
    eventually("the same share", || {
        poll(&one);
        poll(&again);
        (holds(&again) == share).then_some(())
    });
    assert_eq!(holds(&one).len(), 2);
}

/// A connection that announces a request of so many bytes, and says no more of it.
fn announce(broker: &Running, bytes: u32) -> TcpStream {
    let mut stream = TcpStream::connect(broker.address).unwrap();
    stream.write_all(&bytes.to_be_bytes()).unwrap();
    stream
}

/// Whether the broker closes it within this.
fn is_closed(stream: &mut TcpStream, within: Duration) -> bool {
    stream.set_read_timeout(Some(within)).unwrap();
    match stream.read(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn all_connections_share_one_budget_and_small_requests_need_none() {
    let room_within = Duration::from_millis(300);
    // The least there is: one of the longest frames.
    let settings =
        BrokerSettings { transit_bytes_max: 0, room_within, ..BrokerSettings::default() };
    let broker = Running::start_with(settings);
    let all = announce(&broker, 16 << 20);
    // As soon as that one has its room, there is none for another.
    eventually("a refusal", || is_closed(&mut announce(&broker, 8_192), PATIENCE).then_some(()));
    let asked = Mono::now(); // clock: room is waited for at least so long
    assert!(is_closed(&mut announce(&broker, 8_192), PATIENCE));
    let waited = Mono::now().since(asked); // clock: as above
    assert!(waited >= room_within, "it waits for room: {waited:?}");
    let mut small = Raw::connect(&broker);
    small.send(&samples::written(ApiKey::Metadata, 1).1);
    drop(small.receive(ApiKey::Metadata, 1));
    drop(all);
    eventually("room", || {
        let waits = !is_closed(&mut announce(&broker, 8_192), 4 * room_within);
        waits.then_some(())
    });
}
