//! Every setting of every client, each with its why.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;

use super::Access;
use super::KafkaError;
use super::access::Veil;
use super::voice::Voice;
use tandem_facts::ids::{ConsumerGroup, Life, TopicName};

/// A cluster as a client sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cluster {
    /// `host:port`, several with commas.
    pub bootstrap: String,
    /// What the topology adds; it wins over everything here.
    pub access: Access,
}

/// What a member's consumer needs to know.
#[derive(Debug, Clone)]
pub struct ConsumerSettings {
    /// The ledger.
    pub topic: TopicName,
    /// `group.id`.
    pub group: ConsumerGroup,
    /// `client.id`, by which the broker's list of members shows who is who.
    pub life: Life,
    /// `S`.
    pub session: Duration,
    /// `h`.
    pub heartbeat: Duration,
    /// How often the client is woken.
    pub wake: Duration,
    /// `partition.assignment.strategy`.
    pub assignor: String,
}

/// A hung member may hold its partitions for so long, at the least.
const MAX_POLL: Duration = Duration::from_secs(10);

fn ms(duration: Duration) -> String {
    duration.as_millis().to_string()
}

impl Cluster {
    /// What all clients share.
    ///
    /// # Errors
    /// A secret cannot be had, or this build is too lean.
    pub(super) fn base(&self, client_id: &str) -> Result<(ClientConfig, Veil), KafkaError> {
        let mut config = ClientConfig::new();
        // What `properties: {debug: "cgrp"}` has it tell is wanted where `RUST_LOG` asks for it.
        if tracing::enabled!(tracing::Level::DEBUG) {
            config.set_log_level(RDKafkaLogLevel::Debug);
        }
        config.set("bootstrap.servers", &self.bootstrap).set("client.id", client_id);
        // The default waits up to 10 s between attempts: after a 5 s outage a member came back
        // after 9.4 s, and with these after 155 ms.
        config.set("reconnect.backoff.ms", "20").set("reconnect.backoff.max.ms", "200");
        // Who leads a partition is looked up each second where its leader is known to be gone, and
        // twice where that is heard of at the wrong moment: a member that was given a partition of
        // a dead broker heard nothing of it for 2 s.
        config.set("topic.metadata.refresh.interval.ms", "250");
        // A cluster that was never reached is reported by us, not by a log line each second.
        config.set("log.connection.close", "false");
        // Small messages and small answers: waiting to fill a packet only delays them.
        config.set("socket.nagle.disable", "true");
        let veil = self.enter(&mut config)?;
        Ok((config, veil))
    }

    /// For a client that only asks: what it meets is told by who asked.
    pub(super) fn asking(&self) -> Result<(ClientConfig, Voice), KafkaError> {
        let (mut config, veil) = self.base("tandem-controller")?;
        config.set_log_level(RDKafkaLogLevel::Critical);
        // A broker that expects TLS only hangs up.
        config.set("log.connection.close", "true");
        Ok((config, Voice::quiet(veil)))
    }

    pub(super) fn consumer(
        &self,
        settings: &ConsumerSettings,
    ) -> Result<(ClientConfig, Veil), KafkaError> {
        let (mut config, veil) = self.base(&settings.life.to_string())?;
        config.set("group.id", settings.group.as_str());
        config.set("partition.assignment.strategy", &settings.assignor);
        config.set("session.timeout.ms", ms(settings.session));
        config.set("heartbeat.interval.ms", ms(settings.heartbeat));
        // The client demands max.poll.interval.ms >= session.timeout.ms.
        config.set("max.poll.interval.ms", ms(settings.session.max(MAX_POLL)));
        // A request that is lost while its connection lives is asked again after this, by default
        // after a minute: after 4 s without a coordinator a member was still out 39 s later.
        config.set("socket.timeout.ms", ms(MAX_POLL));
        // Nothing is ever replayed: a beacon says "now".
        config.set("enable.auto.commit", "false").set("auto.offset.reset", "latest");
        config.set("fetch.wait.max.ms", "100").set("fetch.error.backoff.ms", "20");
        // A beacon is empty: a member that lags wants the newest, not a queue of old ones.
        config.set("queued.min.messages", "100").set("queued.max.messages.kbytes", "256");
        // How soon a group without coordinator is looked for again.
        config.set("retry.backoff.ms", "20").set("retry.backoff.max.ms", "200");
        Ok((config, veil))
    }

    pub(super) fn producer(
        &self,
        client_id: &str,
        stale: Duration,
    ) -> Result<(ClientConfig, Veil), KafkaError> {
        let (mut config, veil) = self.base(client_id)?;
        // A beacon that cannot be delivered now is better dropped: delivered late, it would claim
        // that its sender was there.
        config.set("message.timeout.ms", ms(stale.max(Duration::from_millis(100))));
        config.set("queue.buffering.max.messages", "10000");
        config.set("linger.ms", "0").set("acks", "1");
        // How soon the new leader of a partition is looked for again, by default up to a second.
        config.set("retry.backoff.ms", "20").set("retry.backoff.max.ms", "200");
        Ok((config, veil))
    }
}
