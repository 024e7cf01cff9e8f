//! A member's consumer reads on while what it holds changes: the partition on which all members
//! state what they lead is read without a break, and a message there ends the wait for a new one.

use std::num::NonZeroU32;
use std::time::Duration;

use support::foreign::Broker;
use support::quiet::undisturbed;
use support::stalls::Watch;
use tandem::ids::{Life, PartitionId};
use tandem::kafka::{Admin, Cluster, Consumer, ConsumerSettings, Mark, Producer, TopicSettings};
use tandem::neli::{Author, Heard, Versions};
use tandem::time::{Mono, Span, Wall};

const TOPIC: &str = "ledger";
const WIDTH: NonZeroU32 = NonZeroU32::new(4).unwrap();
const MESSAGES: u64 = 600;
/// What it holds in turn, ten messages each.
const HOLDINGS: [&[u32]; 5] = [&[], &[0, 2], &[2, 1], &[0], &[3]];
const PATIENCE: Duration = Duration::from_secs(120);
/// Rounds of waits, and the stall of the host that is too much for one: a wait is up to 100 ms.
const ROUNDS: usize = 15;
const STALL: Duration = Duration::from_millis(20);

/// A consumer that is in no group and reads partition 0 in any case, and what publishes for it.
struct Member {
    consumer: Consumer,
    producer: Producer,
    life: Life,
    /// Outlives both.
    broker: Broker,
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
        let mut member = Self { consumer, producer, life, broker };
        member.hold(&[]);
        // It reads from the end, which it has to find first.
        member.wait_for(0, &[0]);
        member
    }

    fn publish(&self, partition: u32, number: u64) {
        let mark = Mark::Sent(&self.life, Mono(number));
        let author = Author { versions: Versions::OURS, settled: false };
        let says = (author, Some(mark));
        assert!(self.producer.publish(PartitionId(partition), Wall(0), says));
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

/// How long it takes to read a partition that is new, where others publish on it alone, and on one
/// that is read as well.
#[derive(Debug)]
struct Round {
    alone: Duration,
    woken: Duration,
    /// For so long the host kept a thread from running meanwhile.
    stalled: Duration,
}

impl Round {
    fn play(member: &mut Member, watch: &Watch) -> Self {
        let began = Mono::now();
        let mut wait = |published: &[u32]| {
            member.hold(&[]);
            // All that was published is read; then a fetch of partition 0 waits.
            while member.heard(Duration::from_millis(20)).is_some() {}
            member.hold(&[1]);
            member.wait_for(1, published)
        };
        let (alone, woken) = (wait(&[1]), wait(&[0, 1]));
        Self { alone, woken, stalled: watch.longest(began, Mono::now()) }
    }

    fn counts(&self) -> bool {
        self.stalled < STALL
    }
}

/// The broker answers the requests of a connection in order, and a fetch that finds nothing waits
/// for 100 ms: the request for the end of a new partition waits behind it. That is why a member
/// publishes on all that it reads until it hears a message on what is new.
#[test]
fn a_message_on_a_partition_that_is_read_ends_the_wait_for_a_new_one() {
    let mut member = Member::new();
    let watch = Watch::begin();
    watch.add(member.broker.pid());
    watch.add(std::process::id());
    let play = || (0..ROUNDS).map(|_| Round::play(&mut member, &watch)).collect::<Vec<_>>();
    let counted = |rounds: &Vec<Round>| rounds.iter().filter(|it| it.counts()).count();
    let is_disturbed = |rounds: &Vec<Round>| counted(rounds) * 3 < ROUNDS * 2;
    let Some(rounds) = undisturbed(play, is_disturbed, |rounds| format!("{rounds:?}")) else {
        return;
    };
    let median = |of: fn(&Round) -> Duration| {
        let mut all: Vec<_> = rounds.iter().filter(|it| it.counts()).map(of).collect();
        all.sort_unstable();
        all[all.len() / 2]
    };
    let (alone, woken) = (median(|it| it.alone), median(|it| it.woken));
    assert!(woken * 2 < alone, "a median of {woken:?} with messages, {alone:?} without");
}
