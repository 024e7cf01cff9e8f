//! A member's consumer reads on while what it holds changes: the partition on which all members
//! state what they lead is read without a break.

use std::num::NonZeroU32;
use std::time::Duration;

use support::foreign::Broker;
use tandem::ids::{Life, PartitionId};
use tandem::kafka::{Admin, Cluster, Consumer, ConsumerSettings, Mark, Producer, TopicSettings};
use tandem::time::{Mono, Span, Wall};

const TOPIC: &str = "ledger";
const WIDTH: NonZeroU32 = NonZeroU32::new(4).unwrap();
const MESSAGES: u64 = 600;
/// What it holds in turn, ten messages each.
const HOLDINGS: [&[u32]; 5] = [&[], &[0, 2], &[2, 1], &[0], &[3]];
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn what_all_members_read_is_read_without_a_break_while_holdings_change() {
    let broker = Broker::direct();
    let cluster = Cluster { bootstrap: broker.address.clone(), ..Cluster::default() };
    let topic = TOPIC.parse().unwrap();
    let retention = Span(Duration::from_secs(60));
    let settings =
        TopicSettings { width: WIDTH, replication: None, min_insync_replicas: None, retention };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let made = async { Admin::new(&cluster)?.create(&topic, settings).await };
    runtime.block_on(made).unwrap();

    let life = Life::try_from("p1-1.1".to_owned()).unwrap();
    let second = Duration::from_secs(1);
    let settings = ConsumerSettings {
        topic: topic.clone(),
        group: "group".parse().unwrap(),
        life: life.clone(),
        session: second,
        heartbeat: second / 10,
        wake: second / 10,
        assignor: "range".to_owned(),
        direct: Some(PartitionId(0)),
    };
    let mut consumer = Consumer::apart(&cluster, &settings).unwrap();
    let producer = Producer::new(&cluster, "p1-1", (&topic, WIDTH), second).unwrap();
    let publish = |number: u64| {
        let mark = Mark::Sent(&life, Mono(number));
        assert!(producer.publish(PartitionId(0), Wall(0), Some(mark)));
    };
    consumer.hold(&[]);
    let began = Mono::now();
    // It reads from the end, which it has to find first.
    let mut next = loop {
        assert!(Mono::now().since(began) < PATIENCE, "nothing is read");
        publish(0);
        if consumer.heard(Mono::now(), second / 100).unwrap().is_some() {
            break 1;
        }
    };
    let mut sent = 0;
    while next <= MESSAGES {
        assert!(Mono::now().since(began) < PATIENCE, "{next} of {MESSAGES} messages are read");
        if sent < MESSAGES {
            sent += 1;
            publish(sent);
        }
        if sent % 10 == 0 && sent < MESSAGES {
            let holds = HOLDINGS[usize::try_from(sent / 10).unwrap() % HOLDINGS.len()];
            consumer.hold(&holds.iter().copied().map(PartitionId).collect::<Vec<_>>());
        }
        while let Some(delivered) = consumer.heard(Mono::now(), second / 500).unwrap() {
            match delivered.heard.sent.unwrap() {
                Mono(0) => assert_eq!(next, 1, "an old message is read again"),
                Mono(number) => {
                    assert_eq!(number, next, "a message is lost or read twice");
                    next += 1;
                }
            }
        }
    }
}
