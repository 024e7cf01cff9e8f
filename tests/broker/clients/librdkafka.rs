//! rdkafka with every classic assignor: three members share, read, commit, and one goes.

use std::collections::BTreeSet;
use std::time::Duration;

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::producer::{BaseRecord, Producer, ThreadedProducer};
use rdkafka::topic_partition_list::TopicPartitionListElem;
use rdkafka::{Message, Offset, TopicPartitionList};

use support::foreign::{Broker, eventually};

const WIDTH: i32 = 6;
pub(super) const WAIT: Duration = Duration::from_secs(60);

pub(crate) fn config(broker: &Broker) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &broker.address);
    config
}

pub(crate) fn create(broker: &Broker, topic: &str, width: i32) {
    support::foreign::groups::create(&broker.address, topic, width);
}

fn member(broker: &Broker, assignor: &str) -> BaseConsumer {
    let member: BaseConsumer = config(broker)
        .set("group.id", assignor)
        .set("partition.assignment.strategy", assignor)
        .set("session.timeout.ms", "60000")
        .set("heartbeat.interval.ms", "100")
        .set("fetch.wait.max.ms", "50")
        .set("auto.offset.reset", "earliest")
        .set("enable.auto.commit", "false")
        .create()
        .unwrap();
    member.subscribe(&["ledger"]).unwrap();
    member
}

/// The partitions that are assigned to it.
pub(super) fn holds(member: &BaseConsumer) -> BTreeSet<i32> {
    let assignment = member.assignment().unwrap();
    assignment.elements().iter().map(TopicPartitionListElem::partition).collect()
}

/// Polls all until each of them holds so many and together they hold everything; what they heard.
fn share(members: &[BaseConsumer], each: usize, heard: &mut BTreeSet<(i32, i64)>) {
    eventually("an even share", || {
        for member in members {
            if let Some(Ok(message)) = member.poll(Duration::from_millis(10)) {
                heard.insert((message.partition(), message.offset()));
            }
        }
        let held: Vec<_> = members.iter().map(holds).collect();
        let all: BTreeSet<_> = held.iter().flatten().copied().collect();
        let even = held.iter().all(|share| share.len() == each);
        (even && all.len() == usize::try_from(WIDTH).unwrap()).then_some(())
    });
}

both_ways!(range, roundrobin, cooperative_sticky,);

fn range(broker: &Broker) {
    works_with(broker, "range");
}

fn roundrobin(broker: &Broker) {
    works_with(broker, "roundrobin");
}

fn cooperative_sticky(broker: &Broker) {
    works_with(broker, "cooperative-sticky");
}

fn works_with(broker: &Broker, assignor: &str) {
    create(broker, "ledger", WIDTH);
    let mut heard = BTreeSet::new();
    let mut members: Vec<_> = (0..3).map(|_| member(broker, assignor)).collect();
    share(&members, 2, &mut heard);

    let producer: ThreadedProducer<_> = config(broker).create().unwrap();
    for partition in 0..WIDTH {
        let record = BaseRecord::<(), _>::to("ledger").partition(partition).payload("x");
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(WAIT).unwrap();
    eventually("a message on each partition", || {
        for member in &members {
            if let Some(message) = member.poll(Duration::from_millis(10)) {
                let message = message.unwrap();
                heard.insert((message.partition(), message.offset()));
            }
        }
        (heard.len() == usize::try_from(WIDTH).unwrap()).then_some(())
    });
    for member in &members {
        member.commit_consumer_state(CommitMode::Sync).unwrap();
    }

    let list = members[0].fetch_group_list(Some(assignor), WAIT).unwrap();
    let group = &list.groups()[0];
    assert_eq!((group.state(), group.protocol()), ("Stable", assignor));
    assert_eq!(group.members().len(), 3);
    assert!(group.members().iter().all(|m| m.assignment().is_some_and(|a| !a.is_empty())));

    drop(members.pop());
    share(&members, 3, &mut heard);
    assert_eq!(heard.len(), usize::try_from(WIDTH).unwrap(), "nothing was heard twice");
    let mut asked = TopicPartitionList::new();
    asked.add_partition_range("ledger", 0, WIDTH - 1);
    let committed = members[0].committed_offsets(asked, WAIT).unwrap();
    assert!(committed.elements().iter().all(|e| e.offset() == Offset::Offset(1)), "{committed:?}");
}
