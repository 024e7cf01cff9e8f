//! `tandem member`: runs one member.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicBool;

use clap::ArgAction;

use super::Failure;
use tandem_member::{Config, Member, MeshSettings, Mode, Pulse};

use crate::error::chain;
use crate::hold::Duties;
use crate::ids::{ConsumerGroup, Life, LifeError, TopicName};
use crate::kafka::Cluster;
use crate::member::etcd::EtcdConfig;
use crate::member::{self, DutyOrder, Programs};
use crate::time::Span;
use crate::topology::{Access, MembershipClient, Secret, is_secret};
use crate::verdict::Exit;
use crate::yaml::choices;

/// Run one member of a group, until it is ordered to leave.
///
/// Joins the consumer group, publishes beacons, leads the roles of its partitions, and writes facts
/// to standard output, one JSON object per line. It reads orders from standard input: "leave" or
/// "exit"; the end of the input means exit. SIGTERM, SIGINT and SIGHUP mean leave.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tandem member p1-1.1 --bootstrap 127.0.0.1:9092 --topic pricing-p1 --partitions 4 \\
      --consumer-group pricing-p1")]
pub(super) struct MemberArgs {
    /// Name and incarnation, as in `p1-1.1`; also the `client.id`.
    #[arg(value_parser = life)]
    life: Life,
    /// The bootstrap addresses: `host:port`, separated by commas.
    #[arg(long, value_name = "ADDRESS", required_unless_present = "etcd")]
    bootstrap: Option<String>,
    /// The topic of the ledger, which must exist.
    #[arg(long, required_unless_present = "etcd")]
    topic: Option<TopicName>,
    /// The number of partitions of the topic.
    #[arg(long, value_name = "N")]
    partitions: NonZeroU32,
    /// The Kafka consumer group (`group.id`).
    #[arg(long, value_name = "GROUP", required_unless_present = "etcd")]
    consumer_group: Option<ConsumerGroup>,
    /// S: the session timeout. The broker reassigns the partitions of a member that is silent for
    /// so long.
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    session: Span,
    /// h: the heartbeat interval.
    #[arg(long, value_name = "DURATION", default_value = "100ms")]
    heartbeat: Span,
    /// The longest wait in one poll of the client.
    #[arg(long, value_name = "DURATION", default_value = "50ms")]
    wake: Span,
    /// tau: how often it publishes on every partition.
    #[arg(long, value_name = "DURATION", default_value = "100ms")]
    beacon: Span,
    /// T: how long a claim outlives the last message of its partition.
    #[arg(long, value_name = "DURATION", default_value = "3s")]
    threshold: Span,
    /// In exclusive mode: how long a claim outlives a revocation.
    #[arg(long, value_name = "DURATION", default_value = "0s")]
    hold: Span,
    /// When a claim holds and what ends it: non-exclusive, fast, or exclusive.
    #[arg(long, default_value = "non-exclusive", value_parser = mode)]
    mode: Mode,
    /// The partition assignor of the group.
    #[arg(long, default_value = "roundrobin")]
    assignor: String,
    /// The client of the group: `librdkafka`, or `own`, which is Tandem itself.
    #[arg(long, value_name = "CLIENT", default_value_t)]
    membership: MembershipClient,
    /// With `own` in non-exclusive mode: give up a partition as soon as another member states that
    /// it leads it.
    #[arg(long, value_name = "true|false", default_value_t = true, action = ArgAction::Set)]
    handover: bool,
    /// With `--handover true`: accept connections of the other members of the group on this
    /// loopback address. They learn of each other's deaths at once, and lead in the place of the
    /// dead.
    #[arg(long, value_name = "IP")]
    mesh: Option<IpAddr>,
    /// With `--mesh`: how long it leads in the place of a dead member if no newer owner does. As
    /// long as a takeover takes.
    #[arg(long, value_name = "DURATION", default_value = "2s", requires = "mesh")]
    stand_in: Span,
    /// With `--mesh`: a member that is silent for this long is taken for dead; at least 20ms.
    /// Default: only the end of its connection counts.
    #[arg(long, value_name = "DURATION", requires = "mesh")]
    suspect: Option<Span>,
    /// Elect over etcd at this address, in place of Kafka: as in http://127.0.0.1:2379.
    #[arg(long, value_name = "URL", requires = "prefix", conflicts_with_all = ON_KAFKA)]
    etcd: Option<String>,
    /// With `--etcd`: what the keys of the group begin with.
    #[arg(long, value_name = "KEY", requires = "etcd")]
    prefix: Option<String>,
    /// With `--etcd`: how long etcd keeps the roles of a member that it does not hear.
    #[arg(long, value_name = "DURATION", default_value = "2s", requires = "etcd")]
    lease: Span,
    /// With `--etcd`: how often it renews its lease.
    #[arg(long, value_name = "DURATION", default_value = "200ms", requires = "etcd")]
    keep_alive: Span,
    /// The program that it runs for each role that it leads, as JSON; `tandem up` and `tandem chaos
    /// run` take it from `duty` of a group.
    #[arg(long, value_name = "JSON", value_parser = duty)]
    duty: Option<DutyOrder>,
    /// A property of the Kafka client; can be repeated.
    #[arg(long = "property", value_name = "KEY=VALUE", value_parser = property)]
    properties: Vec<(String, String)>,
    /// A property whose value is read from a variable or a file, as in sasl.password=env:NAME or
    /// =file:PATH.
    #[arg(long = "secret", value_name = "KEY=PLACE")]
    secrets: Vec<String>,
}

/// What a member on Kafka needs or may have, and one over etcd has not.
const ON_KAFKA: [&str; 5] = ["bootstrap", "topic", "consumer_group", "duty", "mesh"];

fn life(text: &str) -> Result<Life, LifeError> {
    Life::try_from(text.to_owned())
}

fn mode(text: &str) -> Result<Mode, String> {
    let found = Mode::ALL.into_iter().find(|mode| mode.as_str() == text);
    found.ok_or_else(|| choices(text, Mode::ALL.map(Mode::as_str)))
}

fn duty(text: &str) -> Result<DutyOrder, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn property(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("a property is written KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Parses where a secret is. The text may be the secret itself, so the error does not repeat it.
fn secret(text: &str) -> Result<(String, Secret), Failure> {
    let (key, place) = text.split_once('=').unwrap_or(("", text));
    let wrong = |why| Failure::text(Exit::Invalid, format!("--secret {key}=…: {why}"));
    Ok((key.to_owned(), place.parse().map_err(wrong)?))
}

/// Runs the member.
pub(super) fn run(args: MemberArgs) -> Result<Exit, Failure> {
    if let (Some(etcd), Some(prefix)) = (args.etcd, args.prefix) {
        let (lease, keep_alive) = (args.lease.get(), args.keep_alive.get());
        let (life, width) = (args.life, args.partitions);
        let config = EtcdConfig { life, etcd, prefix, width, lease, keep_alive };
        member::etcd::run(&config).map_err(|error| Failure::new(Exit::Unable, &error))?;
        return Ok(Exit::Pass);
    }
    let (Some(bootstrap), Some(topic), Some(consumer_group)) =
        (args.bootstrap, args.topic, args.consumer_group)
    else {
        let what = "a member needs --bootstrap, --topic and --consumer-group, or --etcd";
        return Err(Failure::text(Exit::Invalid, what));
    };
    if let Some((key, _)) = args.properties.iter().find(|(key, _)| is_secret(key)) {
        let what =
            format!("--property {key} would show its value to all users: --secret {key}=env:NAME");
        return Err(Failure::text(Exit::Invalid, what));
    }
    let access = Access {
        properties: args.properties.into_iter().collect(),
        secrets: args.secrets.iter().map(|text| secret(text)).collect::<Result<_, _>>()?,
    };
    let config = Config {
        life: args.life,
        cluster: Cluster { bootstrap, access },
        topic,
        width: args.partitions,
        consumer_group,
        session: args.session.get(),
        heartbeat: args.heartbeat.get(),
        wake: args.wake.get(),
        beacon: args.beacon.get(),
        threshold: args.threshold.get(),
        hold: args.hold.get(),
        mode: args.mode,
        pulse: Pulse::Clock,
        handover: args.handover,
        mesh: args.mesh.map(|listen| MeshSettings {
            listen,
            stand_in: args.stand_in.get(),
            suspect: args.suspect.map(Span::get),
        }),
        advertise: None,
        assignor: args.assignor,
        membership: args.membership,
    };
    let programs = args.duty.map(|order| {
        let duties = Duties::new(order, &config);
        let service = duties.service();
        let run = move |member: &Member, stop: &AtomicBool| {
            duties.run(member, stop).map_err(|error| chain(&error))
        };
        Programs { service, run: Box::new(run) }
    });
    member::run(&config, programs).map_err(|error| Failure::new(Exit::Unable, &error))?;
    Ok(Exit::Pass)
}
