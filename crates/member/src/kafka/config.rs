//! Every setting of every client, with its reason.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;

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
    /// The topology's client properties; they override all settings here.
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

fn ms(duration: Duration) -> String {
    duration.as_millis().to_string()
}

impl Cluster {
    /// The settings that all clients share.
    ///
    /// # Errors
    /// A secret cannot be read, or this build lacks TLS.
    pub(super) fn base(&self, client_id: &str) -> Result<(ClientConfig, Redaction), KafkaError> {
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
        config.set("topic.metadata.refresh.interval.ms", "250");
        // Tandem reports a cluster that was never reached itself, instead of one log line per
        // second.
        config.set("log.connection.close", "false");
        // Messages and responses are small: waiting to fill a packet only delays them.
        config.set("socket.nagle.disable", "true");
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

    pub(super) fn consumer(
        &self,
        settings: &ConsumerSettings,
    ) -> Result<(ClientConfig, Redaction), KafkaError> {
        let (mut config, redaction) = self.base(&settings.life.to_string())?;
        config.set("group.id", settings.group.as_str());
        config.set("partition.assignment.strategy", &settings.assignor);
        config.set("session.timeout.ms", ms(settings.session));
        config.set("heartbeat.interval.ms", ms(settings.heartbeat));
        // librdkafka requires max.poll.interval.ms >= session.timeout.ms.
        config.set("max.poll.interval.ms", ms(settings.session.max(MAX_POLL)));
        // A request that is lost on a live connection is repeated after this time, by default after
        // a minute: after 4 s without a coordinator, a member was still out of the group 39 s
        // later.
        config.set("socket.timeout.ms", ms(MAX_POLL));
        // Old messages are never replayed: a beacon only says that its author is alive now.
        config.set("enable.auto.commit", "false").set("auto.offset.reset", "latest");
        config.set("fetch.wait.max.ms", "100").set("fetch.error.backoff.ms", "20");
        // A beacon is empty, and a member that lags needs the newest one, not a queue of old ones.
        config.set("queued.min.messages", "100").set("queued.max.messages.kbytes", "256");
        // The client counts all that waits for a member against these, and by default fetches
        // nothing more of a partition for a second once they are exceeded.
        config.set("fetch.queue.backoff.ms", "20");
        // How soon a group without a coordinator looks for it again.
        config.set("retry.backoff.ms", "20").set("retry.backoff.max.ms", "200");
        Ok((config, redaction))
    }

    pub(super) fn producer(
        &self,
        client_id: &str,
        stale: Duration,
    ) -> Result<(ClientConfig, Redaction), KafkaError> {
        let (mut config, redaction) = self.base(client_id)?;
        // A beacon that cannot be delivered now is dropped: a late one would wrongly claim that its
        // sender is alive.
        config.set("message.timeout.ms", ms(stale.max(Duration::from_millis(100))));
        config.set("queue.buffering.max.messages", "10000");
        config.set("linger.ms", "0").set("acks", "1");
        // How soon the producer looks for the new leader of a partition again, by default up to a
        // second.
        config.set("retry.backoff.ms", "20").set("retry.backoff.max.ms", "200");
        Ok((config, redaction))
    }
}
