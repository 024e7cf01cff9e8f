//! The full counts on Apache Kafka itself. `tests/measure NAME` runs one series with the release
//! build on clusters that `deploy/kafka/up` starts, and writes a row into `chaos/RESULTS.md`.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use support::alone::Alone;
use support::edge::carried::{Carried, carried};
use support::exclusive::{self, never_two};
use support::experiment::Experiment;
use support::handovers;
use support::isolations;
use support::kafka::{Kafka, described};
use support::results::{Claims, Row, append, tried};
use support::series::{Part, Series, folder, kills, shown};
use support::stand_in;
use tandem::time::Span;

/// A series of `trials` on these clusters.
fn series(
    name: &'static str,
    kafka: &Kafka,
    (file, topology): (&str, &str),
    args: &str,
    trials: u32,
) -> Series {
    let placed = kafka.placed().join(" ");
    let args = format!("-f topologies/{topology}.yaml {args} {placed}");
    Series::of(name, trials, || {
        Experiment::new(&format!("chaos/{file}.yaml")).with(&args).in_state(&kafka.state())
    })
}

/// The paces at which leaders are killed: session, heartbeat, what the median gap must be, and what
/// 28 of 30 trials stay below, in milliseconds.
const PACES: [(&str, &str, RangeInclusive<u64>, u64); 3] = [
    ("1s", "100ms", 850..=1_150, 1_300),
    ("300ms", "30ms", 200..=400, 500),
    ("100ms", "30ms", 50..=150, 250),
];

fn killed_leaders(names: [&'static str; 3], version: &str) {
    let kafka = Kafka::up(2, &["--version", version]);
    let of = ("kill-leader", "kafka-duo");
    let played = names.into_iter().zip(PACES).map(|(name, (session, heartbeat, p50, most))| {
        let args = format!("--set defaults.session={session} --set defaults.heartbeat={heartbeat}");
        // All three are played, independent of their results.
        std::panic::catch_unwind(|| kills(series(name, &kafka, of, &args, 30), p50, most))
    });
    let failed = played.filter(Result::is_err).count();
    assert_eq!(failed, 0, "of three paces");
}

#[test]
#[ignore = "takes minutes: tests/measure kafka-kill-leader"]
fn kafka_kill_leader() {
    let names = ["kafka-kill-leader", "kafka-kill-leader-300ms", "kafka-kill-leader-100ms"];
    killed_leaders(names, "4.3.0");
}

#[test]
#[ignore = "takes minutes: tests/measure kafka-3-kill-leader"]
fn kafka_3_kill_leader() {
    let names = ["kafka-3-kill-leader", "kafka-3-kill-leader-300ms", "kafka-3-kill-leader-100ms"];
    killed_leaders(names, "3.9.1");
}

/// Sixty kills with a session of 10 s.
#[test]
#[ignore = "takes minutes: tests/measure kafka-stand-in"]
fn kafka_stand_in() {
    let kafka = Kafka::up(1, &["--version", "4.3.0"]);
    let set = "--set defaults.session=10s --set defaults.heartbeat=100ms \
               --set defaults.on_death=stand-in --set defaults.restart.after=1s";
    let args = format!("-f topologies/kafka-solo.yaml {set} {}", kafka.placed().join(" "));
    let text = stand_in::experiment("kill", "fault: kill", 60);
    let series = Series::of("kafka-stand-in", 60, || {
        Experiment::of("kill.yaml", &text).with(&args).in_state(&kafka.state())
    });
    stand_in::kills(series, 2_000, 4_000);
}

#[test]
#[ignore = "takes minutes: tests/measure kafka-twin-kill"]
fn kafka_twin_kill() {
    let kafka = Kafka::up(2, &[]);
    let mut twins = series("kafka-twin-kill", &kafka, ("twin-kill", "kafka-duo"), "", 10);
    let (found, trials) = twins.joint_gaps_in();
    let text = format!("in {found} of {trials}");
    twins.claims.add("a joint gap in every trial", text, found == trials);
    let text = twins.missed();
    twins.conclude(&text);
}

#[test]
#[ignore = "takes minutes: tests/measure kafka-pause-leader"]
fn kafka_pause_leader() {
    let kafka = Kafka::up(2, &[]);
    let pauses = series("kafka-pause-leader", &kafka, ("pause-leader", "kafka-duo"), "", 10);
    let text = pauses.missed();
    pauses.conclude(&text);
}

/// A leader is cut off from its brokers, fifty times.
fn isolated_leaders(name: &'static str, threshold: &str) -> Series {
    let kafka = Kafka::up(2, &[]);
    series(name, &kafka, ("isolate-leader", "kafka-duo"), threshold, 50)
}

#[test]
#[ignore = "takes a quarter of an hour: tests/measure kafka-isolate-leader"]
fn kafka_isolate_leader() {
    isolations::seamless(isolated_leaders("kafka-isolate-leader", isolations::SEAMLESS));
}

#[test]
#[ignore = "takes a quarter of an hour: tests/measure kafka-isolate-leader-short"]
fn kafka_isolate_leader_short() {
    isolations::short(isolated_leaders("kafka-isolate-leader-short", isolations::SHORT));
}

/// A group in exclusive mode on one cluster.
fn exclusives(name: &'static str, version: &str, trials: u32) {
    let kafka = Kafka::up(1, &["--version", version]);
    let args = format!(
        "-f topologies/kafka-solo.yaml --set defaults.mode=exclusive {}",
        kafka.placed().join(" ")
    );
    let place = |experiment: Experiment| experiment.with(&args).in_state(&kafka.state());
    never_two(exclusive::series(name, trials, place));
}

#[test]
#[ignore = "takes half an hour: tests/measure kafka-exclusive"]
fn kafka_exclusive() {
    exclusives("kafka-exclusive", "4.3.0", 13);
}

#[test]
#[ignore = "takes minutes: tests/measure kafka-3-exclusive"]
fn kafka_3_exclusive() {
    exclusives("kafka-3-exclusive", "3.9.1", 2);
}

#[test]
#[ignore = "takes a quarter of an hour: tests/measure kafka-handovers"]
fn kafka_handovers() {
    let kafka = Kafka::up(2, &["--version", "4.3.0"]);
    let args = format!("-f topologies/kafka-duo.yaml {}", kafka.placed().join(" "));
    let place = |experiment: Experiment| experiment.with(&args).in_state(&kafka.state());
    handovers::short_overlaps("kafka-handovers", Duration::from_millis(10), place);
}

/// The broker that coordinates a group is killed, ten times.
fn dead_coordinators(name: &'static str, topology: &str, clusters: usize) -> Series {
    let kafka = Kafka::up(clusters, &["--brokers", "3"]);
    series(name, &kafka, ("kill-coordinator", topology), "", 10)
}

/// No role was led in no group at all; the row says what the groups missed.
fn none_misses_all(mut played: Series) {
    played.claim_no_joint_gap();
    let text = played.missed();
    played.conclude(&text);
}

#[test]
#[ignore = "takes minutes: tests/measure kafka-kill-coordinator"]
fn kafka_kill_coordinator() {
    let played = dead_coordinators("kafka-kill-coordinator", "kafka-three", 1);
    let text = played.missed();
    played.conclude(&text);
}

#[test]
#[ignore = "takes minutes: tests/measure kafka-kill-coordinator-of-two"]
fn kafka_kill_coordinator_of_two() {
    none_misses_all(dead_coordinators("kafka-kill-coordinator-of-two", "kafka-duo-three", 2));
}

#[test]
#[ignore = "takes minutes: tests/measure kafka-lose-a-cluster"]
fn kafka_lose_a_cluster() {
    let kafka = Kafka::up(2, &[]);
    let name = "kafka-lose-a-cluster";
    none_misses_all(series(name, &kafka, ("lose-a-cluster", "kafka-duo"), "", 10));
}

/// What is done to members beside death, pause and isolation: each shipped experiment, and its row.
const FAULTS: [(&str, &str); 10] = [
    ("kafka-leave-leader", "leave-leader"),
    ("kafka-stop-leader", "stop-leader"),
    ("kafka-kill-group", "kill-group"),
    ("kafka-restart-too-soon", "restart-too-soon"),
    ("kafka-host-down", "host-down"),
    ("kafka-duplicate-leader", "duplicate-leader"),
    ("kafka-churn-group", "churn-group"),
    ("kafka-storm", "storm"),
    ("kafka-rolling-restart", "rolling-restart"),
    ("kafka-own-command", "own-command"),
];
/// Its command is as it is shipped.
const ALLOWED: &str = "--allow-exec";

/// Three trials of an experiment; it strikes in each of them, and is undone.
fn fault(kafka: &Kafka, name: &'static str, file: &str) {
    let mut played = series(name, kafka, (file, "kafka-duo"), ALLOWED, 3);
    let faults: Vec<_> = played.parts.iter().flat_map(|part| &part.report.faults).collect();
    let trials: BTreeSet<_> = faults.iter().map(|fault| fault.trial).collect();
    let undone = faults.iter().all(|fault| fault.failed.is_none() && fault.healed_ms.is_some());
    let (struck, faults) = (trials.len(), faults.len());
    let all: usize = played.parts.iter().map(Part::played).sum();
    let text = format!("{faults} faults in {struck} of {all} trials, undone: {undone}");
    played.claims.add("struck in each trial, and undone", text, struck == all && undone);
    let text = format!("{}; overlaps {}", played.missed(), shown(&played.overlaps()));
    played.conclude(&text);
}

#[test]
#[ignore = "takes twenty minutes: tests/measure kafka-faults"]
fn kafka_faults() {
    let kafka = Kafka::up(2, &[]);
    let play = |(name, file)| {
        // All are played, independent of their results.
        let held = std::panic::catch_unwind(|| fault(&kafka, name, file));
        held.is_err().then_some(file)
    };
    let failed: Vec<_> = FAULTS.into_iter().filter_map(play).collect();
    assert!(failed.is_empty(), "did not hold: {failed:?}");
}

#[test]
#[ignore = "takes minutes: tests/measure kafka-described"]
fn kafka_described() {
    let count = tried().unwrap_or(20);
    let equal = described::equal(&Kafka::up(1, &[]), count);
    let mut claims = Claims::default();
    claims.add("equal each time", format!("{equal} of {count}"), equal == count);
    let text = "ConsumerGroupCommand beside what members claim, a member killed in between";
    let row = Row::without_trials(count, text);
    append("kafka-described", &folder("kafka-described"), &row, &claims);
    claims.hold();
}

/// What an edge passed on may be above what it was by so much: buffers that grew with a burst.
const GROWN_MAX_KIB: u64 = 2_048;

#[test]
#[ignore = "takes an hour: tests/measure edge-traffic"]
fn edge_traffic() {
    let asked = std::env::var("TANDEM_TRAFFIC").ok();
    let lasts: Span = asked.as_deref().unwrap_or("1h").parse().unwrap();
    let folder = folder("edge-traffic");
    if asked.is_none() && folder.join("row").exists() {
        eprintln!("its row is there already");
        return;
    }
    let embedded = Alone::start();
    // Files that retention can remove, and sessions of brokers that bear a busy machine.
    let set = ["log.segment.bytes=16777216", "broker.session.timeout.ms=9000"];
    let kafka = Kafka::up(1, &["--brokers", "3", "--set", set[0], "--set", set[1]]);
    let both = [&embedded.address, &kafka.bootstraps[0]];
    let both = std::thread::scope(|scope| {
        let running = both.map(|bootstrap| scope.spawn(move || carried(bootstrap, lasts.get())));
        running.map(|one| one.join().unwrap())
    });
    let mut claims = Claims::default();
    let [ours, kafkas] = both.each_ref().map(ToString::to_string);
    let whole = both.iter().all(Carried::is_whole);
    let text = format!("on the embedded broker {ours}; on Kafka, three brokers, {kafkas}");
    claims.add("every message once, in order, as it was sent", text, whole);
    let grown = both.iter().map(Carried::grown_kib).max().unwrap();
    let text = format!("memory of the edges grows by at most {GROWN_MAX_KIB} KiB");
    claims.add(text, format!("{grown} KiB"), grown <= GROWN_MAX_KIB);
    let row = Row::without_trials(1, &lasts.to_string());
    // A shorter one is for trying it.
    match asked {
        Some(_) => eprintln!("{}", claims.shown()),
        None => append("edge-traffic", &folder, &row, &claims),
    }
    claims.hold();
}
