//! `tandem member`: runs one member.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use clap::ArgAction;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::Failure;
use tandem_member::{
    Config, Member, MeshCertificates, MeshSettings, MeshTrust, Mode, Publishers, Pulse, Versions,
    usual,
};

use crate::error::chain;
use crate::hold::Duties;
use crate::ids::{ConsumerGroup, Life, LifeError, MemberId, TopicName};
use crate::kafka::Cluster;
use crate::member::among::{AmongConfig, Nats};
use crate::member::etcd::EtcdConfig;
use crate::member::zookeeper::ZooKeeperConfig;
use crate::member::{self, DutyOrder, MemberError, Programs};
use crate::neli::elections::among::Among;
use crate::time::Span;
use crate::topology::{Access, GroupProtocol, MembershipClient, Secret, is_secret, place};
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
    #[arg(long, value_name = "ADDRESS", required_unless_present_any = ELSEWHERE)]
    bootstrap: Option<String>,
    /// The topic of the ledger, which must exist.
    #[arg(long, required_unless_present_any = ELSEWHERE)]
    topic: Option<TopicName>,
    /// The number of partitions of the topic.
    #[arg(long, value_name = "N")]
    partitions: NonZeroU32,
    /// The Kafka consumer group (`group.id`).
    #[arg(long, value_name = "GROUP", required_unless_present_any = ELSEWHERE)]
    consumer_group: Option<ConsumerGroup>,
    /// Which group of which topology it is of: of two members of one consumer group that name
    /// different ones, the one that came later leaves.
    #[arg(long, value_name = "TOPOLOGY/GROUP@CONSUMER-GROUP")]
    of: Option<String>,
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
    /// Who publishes on a partition each tau: all members, or its owners; then every member does so
    /// on all others each third of the threshold.
    #[arg(long, value_name = "all|owners", default_value = "all", value_parser = publishers)]
    beacons: Publishers,
    /// T: how long a claim outlives the last message of its partition.
    #[arg(long, value_name = "DURATION", default_value = "3s")]
    threshold: Span,
    /// In exclusive mode: how long a claim outlives a revocation.
    #[arg(long, value_name = "DURATION", default_value = "0s")]
    hold: Span,
    /// G: in exclusive-paper mode, how long a new owner waits after its first message before it
    /// leads.
    #[arg(long, value_name = "DURATION", default_value = "0s")]
    grace: Span,
    /// When a claim holds and what ends it: non-exclusive, fast, exclusive, or exclusive-paper.
    #[arg(long, default_value = "non-exclusive", value_parser = mode)]
    mode: Mode,
    /// The partition assignor of the group.
    #[arg(long, default_value = "roundrobin")]
    assignor: String,
    /// The client of the group: `librdkafka`, or `own`, which is Tandem itself.
    #[arg(long, value_name = "CLIENT", default_value_t)]
    membership: MembershipClient,
    /// The group protocol: `classic`, or `consumer` (KIP-848), which needs `own`.
    #[arg(long, value_name = "PROTOCOL", default_value_t)]
    protocol: GroupProtocol,
    /// With `own` in non-exclusive mode: give up a partition as soon as another member states that
    /// it leads it.
    #[arg(long, value_name = "true|false", default_value_t = true, action = ArgAction::Set)]
    handover: bool,
    /// With `own` in non-exclusive mode and the classic protocol: the `group.instance.id` of a
    /// static member, whose partitions the group keeps for a session when it dies or leaves.
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// With `--handover true`: accept connections of the other members of the group on this
    /// address, with or without a port. They learn of each other's deaths at once, and lead in the
    /// place of the dead. An address of the loopback, without more.
    #[arg(long, value_name = "IP[:PORT]", value_parser = linked)]
    mesh: Option<SocketAddr>,
    /// With `--mesh`: where the others connect to, if not there.
    #[arg(long, value_name = "IP:PORT", requires = "mesh")]
    mesh_advertise: Option<SocketAddr>,
    /// With `--mesh`: links over TLS, between holders of certificates of the authority in this
    /// file.
    #[arg(long, value_name = "FILE", requires_all = ["mesh", "mesh_certificate", "mesh_key"])]
    mesh_ca: Option<PathBuf>,
    /// With `--mesh-ca`: the file of this member's certificate.
    #[arg(long, value_name = "FILE", requires = "mesh_ca")]
    mesh_certificate: Option<PathBuf>,
    /// With `--mesh-ca`: the file of its key.
    #[arg(long, value_name = "FILE", requires = "mesh_ca")]
    mesh_key: Option<PathBuf>,
    /// With `--mesh`: links in plain text to any address, open to all that reach the port.
    #[arg(long, value_name = "true|false", requires = "mesh", conflicts_with = "mesh_ca",
        default_value_t = false, action = ArgAction::Set)]
    mesh_plain: bool,
    /// With `--mesh`: how long it leads in the place of a dead member if no newer owner does. As
    /// long as a takeover takes.
    #[arg(long, value_name = "DURATION", default_value = "2s", requires = "mesh")]
    stand_in: Span,
    /// With `--mesh`: a member that is silent for this long is taken for dead; at least 20ms.
    /// Default: only the end of its connection counts.
    #[arg(long, value_name = "DURATION", requires = "mesh")]
    suspect: Option<Span>,
    /// Elect over etcd at this address, in place of Kafka: as in http://127.0.0.1:2379. Addresses
    /// of several servers have commas between them.
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
    /// Elect among these members alone, of which it is one, in place of Kafka: their names, with
    /// commas. All are on this machine, but for those over `--nats`.
    #[arg(
        long,
        value_name = "MEMBER,…",
        value_delimiter = ',',
        requires = "folder",
        conflicts_with_all = ON_KAFKA,
        conflicts_with = "etcd"
    )]
    members: Option<Vec<MemberId>>,
    /// With `--members`: how they elect.
    #[arg(long, default_value = "generation", value_parser = elections())]
    election: Among,
    /// With `--members`: the folder for the sockets and the votes of all members.
    #[arg(long, value_name = "PATH", requires = "members")]
    folder: Option<PathBuf>,
    /// With `--members`: reach them over NATS at these addresses, `host:port` with commas.
    #[arg(long, value_name = "ADDRESS", requires_all = ["members", "subject"])]
    nats: Option<String>,
    /// With `--nats`: what the subjects of the group begin with; a member's is below it.
    #[arg(long, value_name = "SUBJECT", requires = "nats")]
    subject: Option<String>,
    /// Elect over ZooKeeper at these addresses, in place of Kafka; of it are also `--session`,
    /// `--heartbeat` (how often it writes) and `--threshold` (after its last write).
    #[arg(
        long,
        value_name = "ADDRESS",
        requires = "nodes",
        conflicts_with_all = ON_KAFKA,
        conflicts_with_all = ["etcd", "members"]
    )]
    zookeeper: Option<String>,
    /// With `--zookeeper`: the folder of the group's nodes, with one for each partition.
    #[arg(long, value_name = "PATH", requires = "zookeeper")]
    nodes: Option<String>,
    /// The program that it runs for each role that it leads, as JSON; `tandem up` and `tandem chaos
    /// run` take it from `duty` of a group.
    #[arg(long, value_name = "JSON", value_parser = duty)]
    duty: Option<DutyOrder>,
    /// A property of the Kafka client, or of TLS to a store; can be repeated.
    #[arg(long = "property", value_name = "KEY=VALUE", value_parser = property)]
    properties: Vec<(String, String)>,
    /// A property whose value is read from a variable or a file, as in sasl.password=env:NAME or
    /// =file:PATH.
    #[arg(long = "secret", value_name = "KEY=PLACE")]
    secrets: Vec<String>,
}

/// What a member has that does not elect on Kafka.
const ELSEWHERE: [&str; 3] = ["etcd", "members", "zookeeper"];

/// What a member on Kafka needs or may have, and the others have not.
const ON_KAFKA: [&str; 5] = ["bootstrap", "topic", "consumer_group", "duty", "mesh"];

fn life(text: &str) -> Result<Life, LifeError> {
    Life::try_from(text.to_owned())
}

fn mode(text: &str) -> Result<Mode, String> {
    let found = Mode::ALL.into_iter().find(|mode| mode.as_str() == text);
    found.ok_or_else(|| choices(text, Mode::ALL.map(Mode::as_str)))
}

/// Those among members, with what the help says of each.
fn elections() -> impl TypedValueParser<Value = Among> {
    let all = Among::ALL.iter().map(|it| PossibleValue::new(it.as_str()).help(it.about()));
    PossibleValuesParser::new(all).try_map(|name| Among::named(&name).ok_or("no election"))
}

fn publishers(text: &str) -> Result<Publishers, String> {
    let found = Publishers::ALL.into_iter().find(|publishers| publishers.as_str() == text);
    found.ok_or_else(|| choices(text, Publishers::ALL.map(Publishers::as_str)))
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

fn linked(text: &str) -> Result<SocketAddr, &'static str> {
    place(text).ok_or("an IP address, with or without a port")
}

/// How it connects to its cluster.
fn access(properties: Vec<(String, String)>, secrets: &[String]) -> Result<Access, Failure> {
    if let Some((key, _)) = properties.iter().find(|(key, _)| is_secret(key)) {
        let what =
            format!("--property {key} would show its value to all users: --secret {key}=env:NAME");
        return Err(Failure::text(Exit::Invalid, what));
    }
    let secrets = secrets.iter().map(|text| secret(text)).collect::<Result<_, _>>()?;
    Ok(Access { properties: properties.into_iter().collect(), secrets })
}

/// How it is linked to the others of its group, if it is.
fn mesh(args: &mut MemberArgs) -> Option<MeshSettings> {
    let files = (args.mesh_ca.take(), args.mesh_certificate.take(), args.mesh_key.take());
    let trust = match files {
        (Some(authority), Some(certificate), Some(key)) => {
            MeshTrust::Certificates(MeshCertificates { authority, certificate, key })
        }
        _ if args.mesh_plain => MeshTrust::Network,
        _ => MeshTrust::SameUser,
    };
    Some(MeshSettings {
        listen: args.mesh?,
        advertise: args.mesh_advertise,
        trust,
        stand_in: args.stand_in.get(),
        suspect: args.suspect.map(Span::get),
    })
}

/// Runs a member that does not elect on Kafka, if it is one.
fn elsewhere(args: &mut MemberArgs) -> Option<Result<(), MemberError>> {
    let (life, width) = (args.life.clone(), args.partitions);
    let (session, heartbeat) = (args.session.get(), args.heartbeat.get());
    let (threshold, election) = (args.threshold.get(), args.election);
    let properties = args.properties.iter().cloned().collect();
    if let (Some(etcd), Some(prefix)) = (args.etcd.take(), args.prefix.take()) {
        let (lease, keep_alive) = (args.lease.get(), args.keep_alive.get());
        let config = EtcdConfig { life, etcd, prefix, width, lease, keep_alive, properties };
        return Some(member::etcd::run(&config));
    }
    if let (Some(zookeeper), Some(nodes)) = (args.zookeeper.take(), args.nodes.take()) {
        let config = ZooKeeperConfig {
            life,
            zookeeper,
            nodes,
            width,
            session,
            heartbeat,
            threshold,
            properties,
        };
        return Some(member::zookeeper::run(&config));
    }
    let (members, folder) = args.members.take().zip(args.folder.take())?;
    let nats = args.nats.take().zip(args.subject.take());
    let nats = nats.map(|(servers, subject)| Nats { servers, subject, properties });
    let config = AmongConfig { life, election, members, folder, nats, width, session, heartbeat };
    Some(member::among::run(&config))
}

/// Runs the member.
pub(super) fn run(mut args: MemberArgs) -> Result<Exit, Failure> {
    let mesh = mesh(&mut args);
    if let Some(done) = elsewhere(&mut args) {
        return ended(&done);
    }
    let (Some(bootstrap), Some(topic), Some(consumer_group)) =
        (args.bootstrap, args.topic, args.consumer_group)
    else {
        let what = "a member needs --bootstrap, --topic and --consumer-group, or --etcd, or \
                    --zookeeper, or --members";
        return Err(Failure::text(Exit::Invalid, what));
    };
    let access = access(args.properties, &args.secrets)?;
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
        publishers: args.beacons,
        threshold: args.threshold.get(),
        hold: args.hold.get(),
        grace: args.grace.get(),
        mode: args.mode,
        pulse: Pulse::Clock,
        handover: args.handover,
        mesh,
        advertise: None,
        assignor: args.assignor,
        membership: args.membership,
        protocol: args.protocol,
        instance: args.instance,
        fences: Some(usual::fences()),
        versions: Versions::OURS,
        named: member::named(args.of),
    };
    let programs = args.duty.map(|order| {
        let duties = Duties::new(order, &config);
        let service = duties.service();
        let run = move |member: &Member, stop: &AtomicBool| {
            duties.run(member, stop).map_err(|error| chain(&error))
        };
        Programs { service, run: Box::new(run) }
    });
    ended(&member::run(&config, programs))
}

/// The exit of a member that has ended.
fn ended(done: &Result<(), MemberError>) -> Result<Exit, Failure> {
    match done {
        Ok(()) => Ok(Exit::Pass),
        Err(error) => Err(Failure::new(Exit::Unable, error)),
    }
}
