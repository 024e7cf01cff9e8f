//! `tandem member`: one member, one process.

use std::num::NonZeroU32;

use super::Failure;
use tandem_member::Config;

use crate::ids::{ConsumerGroup, Life, LifeError, TopicName};
use crate::kafka::Cluster;
use crate::member;
use crate::time::Span;
use crate::topology::{Access, MembershipClient, Secret, is_secret};
use crate::verdict::Exit;

/// Live as one member of a group, until told to leave.
///
/// Joins the consumer group, publishes beacons, leads what it hears of, and tells facts on standard
/// output, one JSON object a line. Orders come on standard input: "leave" or "exit"; its end is an
/// order to exit. SIGTERM, SIGINT and SIGHUP mean leave.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tandem member p1-1.1 --bootstrap 127.0.0.1:9092 --topic pricing-p1 --partitions 4 \\
      --consumer-group pricing-p1")]
pub(super) struct MemberArgs {
    /// Name and incarnation, as in `p1-1.1`; also the `client.id`.
    #[arg(value_parser = life)]
    life: Life,
    /// The cluster: `host:port`, several with commas.
    #[arg(long, value_name = "ADDRESS")]
    bootstrap: String,
    /// The ledger; it must exist.
    #[arg(long)]
    topic: TopicName,
    /// The ledger's width.
    #[arg(long, value_name = "N")]
    partitions: NonZeroU32,
    /// The Kafka consumer group (`group.id`).
    #[arg(long, value_name = "GROUP")]
    consumer_group: ConsumerGroup,
    /// S: the broker reassigns what it held when it was not heard from for so long.
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    session: Span,
    /// h: how often it shows the broker that it lives.
    #[arg(long, value_name = "DURATION", default_value = "100ms")]
    heartbeat: Span,
    /// The longest wait in one poll.
    #[arg(long, value_name = "DURATION", default_value = "50ms")]
    wake: Span,
    /// tau: how often it publishes on every partition.
    #[arg(long, value_name = "DURATION", default_value = "100ms")]
    beacon: Span,
    /// T: for how long a claim outlives the last message of its partition.
    #[arg(long, value_name = "DURATION", default_value = "3s")]
    threshold: Span,
    /// How the group hands out partitions.
    #[arg(long, default_value = "roundrobin")]
    assignor: String,
    /// What speaks for it in its group: `librdkafka`, or `own`, which is Tandem itself.
    #[arg(long, value_name = "CLIENT", default_value_t)]
    membership: MembershipClient,
    /// A further property of the Kafka client; may be given several times.
    #[arg(long = "property", value_name = "KEY=VALUE", value_parser = property)]
    properties: Vec<(String, String)>,
    /// A property whose value stands elsewhere, as in sasl.password=env:NAME or =file:PATH.
    #[arg(long = "secret", value_name = "KEY=PLACE")]
    secrets: Vec<String>,
}

fn life(text: &str) -> Result<Life, LifeError> {
    Life::try_from(text.to_owned())
}

fn property(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("a property is written KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Where a secret stands. Somebody may have written the secret itself: it is not repeated.
fn secret(text: &str) -> Result<(String, Secret), Failure> {
    let (key, place) = text.split_once('=').unwrap_or(("", text));
    let wrong = |why| Failure::text(Exit::Invalid, format!("--secret {key}=…: {why}"));
    Ok((key.to_owned(), place.parse().map_err(wrong)?))
}

/// Lives.
pub(super) fn run(args: MemberArgs) -> Result<Exit, Failure> {
    if let Some((key, _)) = args.properties.iter().find(|(key, _)| is_secret(key)) {
        let what =
            format!("--property {key} shows its value to everybody: --secret {key}=env:NAME");
        return Err(Failure::text(Exit::Invalid, what));
    }
    let access = Access {
        properties: args.properties.into_iter().collect(),
        secrets: args.secrets.iter().map(|text| secret(text)).collect::<Result<_, _>>()?,
    };
    let config = Config {
        life: args.life,
        cluster: Cluster { bootstrap: args.bootstrap, access },
        topic: args.topic,
        width: args.partitions,
        consumer_group: args.consumer_group,
        session: args.session.get(),
        heartbeat: args.heartbeat.get(),
        wake: args.wake.get(),
        beacon: args.beacon.get(),
        threshold: args.threshold.get(),
        assignor: args.assignor,
        membership: args.membership,
    };
    member::run(&config).map_err(|error| Failure::new(Exit::Unable, &error))?;
    Ok(Exit::Pass)
}
