//! Reads the configuration and metadata of a cluster before a run starts anything on it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rdkafka::admin::{AdminOptions, ConfigResource, ResourceSpecifier};
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::metadata::MetadataTopic;
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};

use super::ClusterFacts;
use super::admin::{Admin, REQUEST, patiently};
use super::error_log::ErrorLog;
use super::{Found, KafkaError, TopicSettings};
use tandem_facts::ids::{ConsumerGroup, PartitionId, TopicName};
use tandem_facts::time::{Mono, Span};
use tandem_host::shown::line;

/// The topic that holds the offsets of all consumer groups. A cluster creates it when the first
/// group needs a coordinator.
pub(super) const OFFSETS: &str = "__consumer_offsets";
/// How long its partitions may lack leaders.
const MADE: Duration = REQUEST;
/// How long it may stay invisible after a coordinator was found. A broker that is not Kafka may not
/// have this topic.
const SEEN: Duration = Duration::from_millis(500);

/// One group's use of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// The group's `group.id`.
    pub group: ConsumerGroup,
    /// The group's topic.
    pub topic: TopicName,
    /// The settings with which a missing topic is created.
    pub settings: TopicSettings,
    /// Whether the group relies on the brokers' replicas of its commits.
    pub proves: bool,
    /// Whether it relies on the brokers' stamps of its messages.
    pub stamped: bool,
}

impl Admin {
    /// Reads the facts about the cluster that these groups need. Looks up the coordinator of each
    /// group just as its members will.
    ///
    /// # Errors
    /// The cluster does not answer, or a right is missing.
    pub async fn facts(&self, ledgers: &[Ledger]) -> Result<ClusterFacts, KafkaError> {
        self.enter()?;
        let mut facts = ClusterFacts { brokers: self.brokers()?, ..ClusterFacts::default() };
        if let Some(broker) = facts.brokers.keys().next() {
            self.limits(*broker, &mut facts).await?;
        }
        for Ledger { group, topic, settings, stamped, .. } in ledgers {
            match self.topic(topic)? {
                Found::Width(width) => {
                    facts.widths.insert(topic.clone(), width);
                    if *stamped {
                        let stamps = self.stamps(topic).await?;
                        facts.stamps.extend(stamps.map(|stamps| (topic.clone(), stamps)));
                    }
                }
                Found::Absent => {
                    let refusal = self.would_create(topic, *settings).await?;
                    facts.refusals.extend(refusal.map(|why| (topic.clone(), why)));
                }
            }
            self.find_coordinator(group, topic)?;
            let strangers = self.members(group)?.into_iter().map(|member| line(&member.client_id));
            facts.strangers.insert(group.clone(), strangers.collect());
        }
        facts.offsets_leaders = self.offsets_leaders().await?;
        if ledgers.iter().any(|ledger| ledger.proves)
            && let Some(config) = self.config_of(ResourceSpecifier::Topic(OFFSETS)).await?
        {
            let insync = value(&config, "min.insync.replicas");
            facts.offsets_insync = insync.and_then(|text| text.parse().ok());
            let unclean = value(&config, "unclean.leader.election.enable");
            facts.offsets_unclean = unclean.and_then(|text| text.parse().ok());
        }
        Ok(facts)
    }

    /// The address of the broker that coordinates a group.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub async fn coordinator(
        &self,
        group: &ConsumerGroup,
        topic: &TopicName,
    ) -> Result<Option<String>, KafkaError> {
        self.find_coordinator(group, topic)?;
        let mut facts = ClusterFacts { brokers: self.brokers()?, ..ClusterFacts::default() };
        facts.offsets_leaders = self.offsets_leaders().await?;
        let leader = facts.coordinator(group);
        Ok(leader.and_then(|leader| facts.brokers.remove(&leader)))
    }

    /// The address of the broker that leads a partition.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub fn leader(
        &self,
        topic: &TopicName,
        partition: PartitionId,
    ) -> Result<Option<String>, KafkaError> {
        let metadata = self.reader.fetch_metadata(Some(topic.as_str()), REQUEST);
        let metadata = metadata.map_err(self.failed(format!("describe topic {topic}")))?;
        let mut partitions = metadata.topics().iter().flat_map(MetadataTopic::partitions);
        let led = partitions.find(|one| u32::try_from(one.id()) == Ok(partition.0));
        let leader =
            led.and_then(|led| metadata.brokers().iter().find(|it| it.id() == led.leader()));
        Ok(leader.map(|it| format!("{}:{}", it.host(), it.port())))
    }

    /// The brokers in the cluster's metadata, by broker id.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub fn brokers(&self) -> Result<BTreeMap<i32, String>, KafkaError> {
        let metadata = self.reader.fetch_metadata(Some(OFFSETS), REQUEST);
        let metadata = metadata.map_err(self.failed("answer"))?;
        let brokers = metadata.brokers().iter();
        Ok(brokers.map(|it| (it.id(), format!("{}:{}", it.host(), it.port()))).collect())
    }

    /// The brokers as `1 at h:9092`, with a short timeout; none if the cluster does not answer in
    /// time.
    #[must_use]
    pub fn glance(&self, within: Duration) -> Option<BTreeSet<String>> {
        self.listen();
        let metadata = self.reader.fetch_metadata(Some(OFFSETS), within).ok()?;
        let brokers = metadata.brokers().iter();
        Some(brokers.map(|it| format!("{} at {}:{}", it.id(), it.host(), it.port())).collect())
    }

    /// Reads limits from a broker's configuration; leaves out those that are not visible.
    async fn limits(&self, broker: i32, facts: &mut ClusterFacts) -> Result<(), KafkaError> {
        let Some(config) = self.config_of(ResourceSpecifier::Broker(broker)).await? else {
            return Ok(());
        };
        facts.session_least = span(&config, "group.min.session.timeout.ms");
        facts.session_most = span(&config, "group.max.session.timeout.ms");
        facts.initial_delay = span(&config, "group.initial.rebalance.delay.ms");
        // Before Kafka 4 this names the protocols, and the newer one is not among them by default.
        let protocols = value(&config, "group.coordinator.rebalance.protocols");
        let named = protocols.is_none_or(|it| it.split(',').any(|it| it.trim() == "consumer"));
        facts.consumer = facts
            .session_least
            .map(|_| named && span(&config, "group.consumer.session.timeout.ms").is_some());
        let limits = |what: &str| {
            let least = span(&config, &format!("group.consumer.min.{what}"))?;
            Some((least, span(&config, &format!("group.consumer.max.{what}"))?))
        };
        facts.consumer_session = limits("session.timeout.ms");
        facts.consumer_heartbeat = limits("heartbeat.interval.ms");
        facts.protocol = value(&config, "inter.broker.protocol.version");
        Ok(())
    }

    /// Whose stamps the messages of a topic have; none if that is not visible.
    async fn stamps(&self, topic: &TopicName) -> Result<Option<String>, KafkaError> {
        let config = self.config_of(ResourceSpecifier::Topic(topic.as_str())).await?;
        Ok(config.and_then(|config| value(&config, "message.timestamp.type")))
    }

    /// The configuration of a broker or topic; none if it is not visible.
    async fn config_of(
        &self,
        what: ResourceSpecifier<'_>,
    ) -> Result<Option<ConfigResource>, KafkaError> {
        let options = AdminOptions::new().request_timeout(Some(REQUEST));
        let Some(admin) = &self.admin else { return Ok(None) };
        let answer = admin.describe_configs(&[what], &options).await;
        let mut answers = answer.map_err(self.failed("describe its configuration"))?;
        match answers.pop() {
            Some(Ok(config)) => Ok(Some(config)),
            Some(Err(
                RDKafkaErrorCode::ClusterAuthorizationFailed
                | RDKafkaErrorCode::TopicAuthorizationFailed
                | RDKafkaErrorCode::UnknownTopicOrPartition,
            ))
            | None => Ok(None),
            Some(Err(code)) => {
                let source = rdkafka::error::KafkaError::AdminOp(code);
                Err(self.failed("describe its configuration")(source))
            }
        }
    }

    /// Looks up the group's coordinator by asking it for an offset. Joins no group.
    fn find_coordinator(&self, group: &ConsumerGroup, topic: &TopicName) -> Result<(), KafkaError> {
        let refused = |source| self.cluster.refused(source);
        let (mut config, errors) = self.cluster.asking()?;
        config.set("group.id", group.as_str());
        let asker: BaseConsumer<ErrorLog> = config.create_with_context(errors).map_err(refused)?;
        self.cluster.introduce(&asker);
        let mut offsets = TopicPartitionList::new();
        let added = offsets.add_partition_offset(topic.as_str(), 0, Offset::Invalid);
        added.map_err(refused)?;
        let answer = patiently(|| asker.committed_offsets(offsets.clone(), REQUEST));
        answer.map(drop).map_err(|source| {
            let heard = asker.poll(Duration::ZERO).and_then(Result::err);
            let denied = Some(RDKafkaErrorCode::GroupAuthorizationFailed);
            let heard = heard.and_then(|error| error.rdkafka_error_code());
            if source.rdkafka_error_code() == denied || heard == denied {
                return self.cluster.lacks("Describe", format!("consumer group {group}"));
            }
            self.failed(format!("name the coordinator of consumer group {group}"))(source)
        })
    }

    /// The leaders of the partitions of `__consumer_offsets`, once each has one.
    async fn offsets_leaders(&self) -> Result<Vec<Option<i32>>, KafkaError> {
        let began = Mono::now();
        loop {
            let metadata = self.reader.fetch_metadata(Some(OFFSETS), REQUEST);
            let metadata = metadata.map_err(self.failed(format!("describe {OFFSETS}")))?;
            let topic = metadata.topics().iter().find(|topic| topic.name() == OFFSETS);
            let partitions = topic.map(MetadataTopic::partitions).unwrap_or_default();
            let leaders: BTreeMap<i32, Option<i32>> = partitions
                .iter()
                .map(|one| (one.id(), Some(one.leader()).filter(|leader| *leader >= 0)))
                .collect();
            let whole = !leaders.is_empty() && leaders.values().all(Option::is_some);
            let within = if leaders.is_empty() { SEEN } else { MADE };
            if whole || Mono::now().since(began) > within {
                return Ok(leaders.into_values().collect());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn value(config: &ConfigResource, name: &str) -> Option<String> {
    config.get(name).and_then(|entry| entry.value.clone())
}

fn span(config: &ConfigResource, name: &str) -> Option<Span> {
    value(config, name)?.parse().ok().map(Span::ms)
}
