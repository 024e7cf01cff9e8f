//! A member's consumer reads on while what it holds changes: the partition on which all members
//! state what they lead is read without a break, and a message there ends the wait for a new one.

use std::num::NonZeroU32;
use std::time::Duration;

use support::foreign::Broker;
use tandem::ids::{Life, PartitionId};
use tandem::kafka::{Admin, Cluster, Consumer, ConsumerSettings, Mark, Producer, TopicSettings};
use tandem::neli::Heard;
use tandem::time::{Mono, Span, Wall};

const TOPIC: &str = "ledger";
const WIDTH: NonZeroU32 = NonZeroU32::new(4).unwrap();
const MESSAGES: u64 = 600;
/// What it holds in turn, ten messages each.
const HOLDINGS: [&[u32]; 5] = [&[], &[0, 2], &[2, 1], &[0], &[3]];
const PATIENCE: Duration = Duration::from_secs(30);

/// A consumer that is in no group and reads partition 0 in any case, and what publishes for it.
struct Member {
    consumer: Consumer,
    producer: Producer,
    life: Life,
    /// Outlives both.
    _broker: Broker,
}

impl Member {
    fn new() -> Self {
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
        let consumer = Consumer::apart(&cluster, &settings).unwrap();
        let producer = Producer::new(&cluster, "p1-1", (&topic, WIDTH), second).unwrap();
        let mut member = Self { consumer, producer, life, _broker: broker };
        member.hold(&[]);
        // It reads from the end, which it has to find first.
        member.wait_for(0, &[0]);
        member
    }

    fn publish(&self, partition: u32, number: u64) {
        let mark = Mark::Sent(&self.life, Mono(number));
        assert!(self.producer.publish(PartitionId(partition), Wall(0), Some(mark)));
    }

    fn hold(&mut self, partitions: &[u32]) {
        self.consumer.hold(&partitions.iter().copied().map(PartitionId).collect::<Vec<_>>());
    }

    fn heard(&mut self, wait: Duration) -> Option<Heard> {
        Some(self.consumer.heard(Mono::now(), wait).unwrap()?.heard)
    }

    /// Publishes on `partitions` each 10 ms until it reads a message on `partition`: how long that
    /// takes.
    fn wait_for(&mut self, partition: u32, partitions: &[u32]) -> Duration {
        let (began, mut due) = (Mono::now(), Mono::now());
        loop {
            let now = Mono::now();
            assert!(now.since(began) < PATIENCE, "nothing is read on partition {partition}");
            if due <= now {
                partitions.iter().for_each(|&partition| self.publish(partition, 0));
                due = now + Duration::from_millis(10);
            }
            let heard = self.heard(Duration::from_millis(1));
            if heard.is_some_and(|heard| heard.partition == PartitionId(partition)) {
                return Mono::now().since(began);
            }
        }
    }
}

#[test]
fn what_all_members_read_is_read_without_a_break_while_holdings_change() {
    let mut member = Member::new();
    let began = Mono::now();
    let (mut sent, mut next) = (0, 1);
    while next <= MESSAGES {
        assert!(Mono::now().since(began) < PATIENCE, "{next} of {MESSAGES} messages are read");
        if sent < MESSAGES {
            sent += 1;
            member.publish(0, sent);
        }
        if sent % 10 == 0 && sent < MESSAGES {
            member.hold(HOLDINGS[usize::try_from(sent / 10).unwrap() % HOLDINGS.len()]);
        }
        while let Some(heard) = member.heard(Duration::from_millis(2)) {
            match heard.sent.unwrap() {
                Mono(0) => assert_eq!(next, 1, "an old message is read again"),
                Mono(number) => {
                    assert_eq!(number, next, "a message is lost or read twice");
                    next += 1;
                }
            }
        }
    }
}

/// The broker answers the requests of a connection in order, and a fetch that finds nothing waits
/// for 100 ms: the request for the end of a new partition waits behind it. That is why a member
/// publishes on all that it reads until it hears a message on what is new.
#[test]
fn a_message_on_a_partition_that_is_read_ends_the_wait_for_a_new_one() {
    let mut member = Member::new();
    let mut waits = |published: &[u32]| {
        let mut waits: Vec<_> = (0..15)
            .map(|_| {
                member.hold(&[]);
                // All that was published is read; then a fetch of partition 0 waits.
                while member.heard(Duration::from_millis(20)).is_some() {}
                member.hold(&[1]);
                member.wait_for(1, published)
            })
            .collect();
        waits.sort_unstable();
        waits[waits.len() / 2]
    };
    let (alone, woken) = (waits(&[1]), waits(&[0, 1]));
    assert!(woken * 2 < alone, "a median of {woken:?} with messages, {alone:?} without");
}
