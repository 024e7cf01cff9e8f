//! A consumer that is in no group, reads partition 0 in any case, and beside it what it holds.

use std::num::NonZeroU32;
use std::time::Duration;

use tandem::ids::{Life, PartitionId};
use tandem::kafka::{Admin, Cluster, Consumer, ConsumerSettings, Mark, Producer, TopicSettings};
use tandem::neli::{Author, Heard, Versions};
use tandem::time::{Mono, Span, Wall};

use super::foreign::Broker;

const TOPIC: &str = "ledger";
const WIDTH: NonZeroU32 = NonZeroU32::new(4).unwrap();
/// Nothing takes it longer, however loaded the machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The consumer, and what publishes for it.
pub struct Reader {
    consumer: Consumer,
    producer: Producer,
    life: Life,
    /// Outlives both.
    pub broker: Broker,
}

impl Reader {
    /// Starts both on a broker of their own. It reads partition 0 to its end.
    pub fn new() -> Self {
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
        let producer = Producer::new(&cluster, "p1-1", (&topic, WIDTH), 60 * second).unwrap();
        let mut reader = Self { consumer, producer, life, broker };
        reader.hold(&[]);
        // It reads from the end, which it has to find first.
        reader.wait_for(0, &[0]);
        reader
    }

    /// Publishes a message with this number.
    pub fn publish(&self, partition: u32, number: u64) {
        let mark = Mark::Sent(&self.life, Mono(number));
        let author = Author { versions: Versions::OURS, settled: false };
        let says = (author, Some(mark));
        assert!(self.producer.publish(PartitionId(partition), Wall(0), says));
    }

    /// From now on it holds these, and none else.
    pub fn hold(&mut self, partitions: &[u32]) {
        self.consumer.hold(&partitions.iter().copied().map(PartitionId).collect::<Vec<_>>());
    }

    /// The next message, if one comes so soon.
    pub fn heard(&mut self, wait: Duration) -> Option<Heard> {
        Some(self.consumer.heard(Mono::now(), wait).unwrap()?.heard)
    }

    /// Publishes on `partitions` each 10 ms until it reads a message on `partition`: how long that
    /// takes.
    pub fn wait_for(&mut self, partition: u32, partitions: &[u32]) -> Duration {
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
