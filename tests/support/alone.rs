//! A broker that stands alone, as a cluster that outlives the runs on it.

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use tokio::runtime::Runtime;

use super::broker_process::BrokerProcess;
use super::experiment::eventually;

const PATIENCE: Duration = Duration::from_secs(60);

/// The process, and clients of it.
pub struct Alone {
    process: BrokerProcess,
    pub address: String,
}

impl Alone {
    /// Starts one.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts one with these options of `tandem broker`.
    pub fn start_with(options: &[&str]) -> Self {
        let process = BrokerProcess::start_with(options);
        Self { address: process.address.clone(), process }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.child.id()
    }

    fn client(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.address);
        config
    }

    fn admin(&self) -> AdminClient<DefaultClientContext> {
        self.client().create().unwrap()
    }

    /// All topics and their widths.
    pub fn topics(&self) -> BTreeMap<String, usize> {
        topics_at(&self.address)
    }

    /// Creates a topic, like another user.
    pub fn create(&self, name: &str, width: i32) {
        self.create_with(name, width, &[]);
    }

    /// The same, with these settings.
    pub fn create_with(&self, name: &str, width: i32, settings: &[(&str, &str)]) {
        let topic = NewTopic::new(name, width, TopicReplication::Fixed(1));
        let topic = settings.iter().fold(topic, |topic, (key, value)| topic.set(key, value));
        let admin = self.admin();
        let made = runtime().block_on(admin.create_topics([&topic], &AdminOptions::new()));
        made.unwrap().remove(0).unwrap();
    }

    /// Deletes a topic, like another user.
    pub fn delete(&self, name: &str) {
        let admin = self.admin();
        let gone = runtime().block_on(admin.delete_topics(&[name], &AdminOptions::new()));
        gone.unwrap().remove(0).unwrap();
    }

    /// The end offset of a partition.
    pub fn end(&self, topic: &str, partition: i32) -> i64 {
        let reader: BaseConsumer = self.client().create().unwrap();
        reader.fetch_watermarks(topic, partition, PATIENCE).unwrap().1
    }

    /// A setting of a topic.
    pub fn setting(&self, topic: &str, key: &str) -> Option<String> {
        let (admin, of) = (self.admin(), [ResourceSpecifier::Topic(topic)]);
        let described = runtime().block_on(admin.describe_configs(&of, &AdminOptions::new()));
        let resource = described.unwrap().remove(0).unwrap();
        resource.get(key).and_then(|entry| entry.value.clone())
    }

    /// A client that is already in the consumer group.
    pub fn stranger(&self, group: &str, topic: &str) -> BaseConsumer {
        let mut config = self.client();
        config.set("group.id", group).set("client.id", "a-stranger");
        let stranger: BaseConsumer = config.create().unwrap();
        stranger.subscribe(&[topic]).unwrap();
        eventually("the stranger's membership", PATIENCE, || {
            drop(stranger.poll(Duration::from_millis(50)));
            (stranger.assignment().unwrap().count() > 0).then_some(())
        });
        stranger
    }
}

/// All topics of these brokers and their widths.
pub fn topics_at(bootstrap: &str) -> BTreeMap<String, usize> {
    let mut config = ClientConfig::new();
    let reader: BaseConsumer = config.set("bootstrap.servers", bootstrap).create().unwrap();
    let all = reader.fetch_metadata(None, PATIENCE).unwrap();
    let topics = all.topics().iter();
    topics.map(|topic| (topic.name().to_owned(), topic.partitions().len())).collect()
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
