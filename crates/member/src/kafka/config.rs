//! Every setting of every client, with its reason.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, ConsumerContext};

use super::Access;
use super::KafkaError;
use super::access::Redaction;
use super::error_log::ErrorLog;
use tandem_facts::ids::{ConsumerGroup, Life, PartitionId, TopicName};

/// A cluster, from a client's point of view.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cluster {
    /// `host:port`, or several of them separated by commas.
    pub bootstrap: String,
    /// The topology's client properties. They override the settings here, except what the plan
    /// decides of a group: its id, its times, its assignor, and where a member begins to read.
    pub access: Access,
}

/// The settings of a member's consumer.
#[derive(Debug, Clone)]
pub struct ConsumerSettings {
    /// The ledger.
    pub topic: TopicName,
    /// `group.id`.
    pub group: ConsumerGroup,
    /// `client.id`, which identifies members in the broker's list.
    pub life: Life,
    /// `S`.
    pub session: Duration,
    /// `h`.
    pub heartbeat: Duration,
    /// The interval at which the client's main loop is woken.
    pub wake: Duration,
    /// `partition.assignment.strategy`.
    pub assignor: String,
    /// A partition that it reads in addition to what the group assigns.
    pub direct: Option<PartitionId>,
}

/// The least `max.poll.interval.ms`: a hung member may hold its partitions for this long.
const MAX_POLL: Duration = Duration::from_secs(10);

/// How long a client is polled for its first token. The wish for it is there from the beginning,
/// behind a few lines of its log.
const INTRODUCED: Duration = Duration::from_millis(10);

/// How often a client looks up the leaders of partitions, at the most and at the least.
const REFRESH: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// How long a fetch that finds nothing waits, at the least and at the most.
const FETCH_WAIT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

fn ms(duration: Duration) -> String {
    duration.as_millis().to_string()
}

/// How often a client of a group with this session looks up leaders. The idle members of a group
/// with a long session would otherwise spend most of their time with it.
fn refresh(session: Duration) -> Duration {
    (session / 8).clamp(REFRESH.0, REFRESH.1)
}

/// How long a fetch that finds nothing waits. A message ends it at once.
fn fetch_wait(session: Duration) -> Duration {
    (session / 20).clamp(FETCH_WAIT.0, FETCH_WAIT.1)
}

impl Cluster {
    /// The settings that all clients share.
    ///
    /// # Errors
    /// A secret cannot be read, or this build lacks TLS.
    pub(super) fn base(&self, client_id: &str) -> Result<(ClientConfig, Redaction), KafkaError> {
        self.tuned(client_id, &[])
    }

    /// The same, and the settings of one kind of client.
    fn tuned(
        &self,
        client_id: &str,
        tuning: &[(&str, String)],
    ) -> Result<(ClientConfig, Redaction), KafkaError> {
        let mut config = ClientConfig::new();
        // The output of `properties: {debug: "cgrp"}` is passed on where `RUST_LOG` enables it.
        if tracing::enabled!(tracing::Level::DEBUG) {
            config.set_log_level(RDKafkaLogLevel::Debug);
        }
        config.set("bootstrap.servers", &self.bootstrap).set("client.id", client_id);
        // The default waits up to 10 s between attempts: after a 5 s outage a member came back
        // after 9.4 s, and with these after 155 ms.
        config.set("reconnect.backoff.ms", "20").set("reconnect.backoff.max.ms", "200");
        // librdkafka looks up a partition's leader once a second while it knows that the leader is
        // gone, and may need two attempts. A member that was assigned a partition of a dead broker
        // received no message for 2 s.
        config.set("topic.metadata.refresh.interval.ms", ms(REFRESH.0));
        // Tandem reports a cluster that was never reached itself, instead of one log line per
        // second.
        config.set("log.connection.close", "false");
        // A topic that was deleted must not come back by itself, with a width of the broker's
        // choice: its members would share out one partition. By default a producer creates it.
        config.set("allow.auto.create.topics", "false");
        // Messages and responses are small: waiting to fill a packet only delays them.
        config.set("socket.nagle.disable", "true");
        for (key, value) in tuning {
            config.set(*key, value);
        }
        let redaction = self.configure(&mut config)?;
        Ok((config, redaction))
    }

    /// The settings of a client that only sends requests. The code that sends them reports its
    /// errors.
    pub(super) fn asking(&self) -> Result<(ClientConfig, ErrorLog), KafkaError> {
        let (mut config, redaction) = self.base("tandem-controller")?;
        config.set_log_level(RDKafkaLogLevel::Critical);
        // A broker that expects TLS only closes the connection.
        config.set("log.connection.close", "true");
        Ok((config, ErrorLog::quiet(redaction)))
    }

    /// Lets a new client that presents a token ask for it: librdkafka does that when it is polled,
    /// and a client that only sends requests would wait for one in vain.
    pub(super) fn introduce<C: ConsumerContext>(&self, client: &BaseConsumer<C>) {
        if self.access.is_bearer() {
            client.poll(INTRODUCED);
        }
    }

    pub(super) fn consumer(
        &self,
        settings: &ConsumerSettings,
    ) -> Result<(ClientConfig, Redaction), KafkaError> {
        let fetch_wait = fetch_wait(settings.session);
        let tuning = [
            // A request that is lost on a live connection is repeated after this time, by default
            // after a minute: after 4 s without a coordinator, a member was still out of the group
            // 39 s later.
            ("socket.timeout.ms", ms(MAX_POLL)),
            ("fetch.wait.max.ms", ms(fetch_wait)),
            ("fetch.error.backoff.ms", "20".to_owned()),
            ("topic.metadata.refresh.interval.ms", ms(refresh(settings.session))),
            // A beacon is empty, and a member that lags needs the newest one, not a queue of old
            // ones.
            ("queued.min.messages", "100".to_owned()),
            ("queued.max.messages.kbytes", "256".to_owned()),
            // The client counts all that waits for a member against these, and by default fetches
            // nothing more of a partition for a second once they are exceeded.
            ("fetch.queue.backoff.ms", "20".to_owned()),
            // How soon a group without a coordinator looks for it again.
            ("retry.backoff.ms", "20".to_owned()),
            ("retry.backoff.max.ms", "200".to_owned()),
        ];
        let (mut config, redaction) = self.tuned(&settings.life.to_string(), &tuning)?;
        config.set("group.id", settings.group.as_str());
        config.set("partition.assignment.strategy", &settings.assignor);
        config.set("session.timeout.ms", ms(settings.session));
        config.set("heartbeat.interval.ms", ms(settings.heartbeat));
        // librdkafka requires max.poll.interval.ms >= session.timeout.ms.
        config.set("max.poll.interval.ms", ms(settings.session.max(MAX_POLL)));
        // Old messages are never replayed: a beacon only says that its author is alive now.
        config.set("enable.auto.commit", "false").set("auto.offset.reset", "latest");
        Ok((config, redaction))
    }

    pub(super) fn producer(
        &self,
        client_id: &str,
        stale: Duration,
    ) -> Result<(ClientConfig, Redaction), KafkaError> {
        let tuning = [
            // A beacon that cannot be delivered now is dropped: a late one would wrongly claim that
            // its sender is alive.
            ("message.timeout.ms", ms(stale.max(Duration::from_millis(100)))),
            ("topic.metadata.refresh.interval.ms", ms(refresh(stale))),
            ("queue.buffering.max.messages", "10000".to_owned()),
            ("linger.ms", "0".to_owned()),
            ("acks", "1".to_owned()),
            // How soon the producer looks for the new leader of a partition again, by default up to
            // a second.
            ("retry.backoff.ms", "20".to_owned()),
            ("retry.backoff.max.ms", "200".to_owned()),
        ];
        self.tuned(client_id, &tuning)
    }
}

#[cfg(test)]
mod tests {
    use tandem_facts::ids::Incarnation;

    use super::*;

    fn settings(session: Duration) -> ConsumerSettings {
        ConsumerSettings {
            topic: "ledger".parse().unwrap(),
            group: "group".parse().unwrap(),
            life: Life { member: "p1-1".parse().unwrap(), incarnation: Incarnation(1) },
            session,
            heartbeat: session / 10,
            wake: Duration::from_millis(50),
            assignor: "roundrobin".to_owned(),
            direct: None,
        }
    }

    fn cluster(properties: &[(&str, &str)]) -> Cluster {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let properties = properties.iter().map(own).collect();
        let access = Access { properties, ..Access::default() };
        Cluster { bootstrap: "127.0.0.1:9092".to_owned(), access }
    }

    #[test]
    fn members_with_a_long_session_ask_less_often() {
        let asked = |session| {
            let (config, _) = cluster(&[]).consumer(&settings(session)).unwrap();
            let value = |key| config.get(key).unwrap().parse::<u64>().unwrap();
            (value("fetch.wait.max.ms"), value("topic.metadata.refresh.interval.ms"))
        };
        assert_eq!(asked(Duration::from_millis(300)), (100, 250));
        assert_eq!(asked(Duration::from_secs(1)), (100, 250));
        assert_eq!(asked(Duration::from_secs(10)), (500, 1250));
        assert_eq!(asked(Duration::from_secs(60)), (1000, 5000));
    }

    #[test]
    fn properties_of_a_topology_override_all_but_what_the_plan_decides() {
        let cluster = cluster(&[("fetch.wait.max.ms", "7"), ("group.id", "another")]);
        let (config, _) = cluster.consumer(&settings(Duration::from_secs(1))).unwrap();
        assert_eq!(config.get("fetch.wait.max.ms"), Some("7"));
        assert_eq!(config.get("group.id"), Some("group"));
        let (config, _) = cluster.producer("p1-1.1", Duration::from_secs(1)).unwrap();
        assert_eq!(config.get("acks"), Some("1"));
    }
}
