//! Apache Kafka as the subject of the coordinator's transcripts: it must answer what is written in
//! `tests/data/coordinator/*.txt` and `tests/data/consumer/*.txt`, as the core and the embedded
//! broker do. The clusters are started by `deploy/kafka/up`, which needs Java 17 and Maven; without
//! them these tests fail.

#![allow(dead_code, reason = "a test may fail loudly, and what is shared is not all used here")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use support::coordinator::embedded::Embedded;
use support::coordinator::line::{self, Line};
use support::coordinator::parity;
use support::coordinator::remote::Remote;
use support::kafka::{Clusters, turn};
use support::quiet::{NOISE_MAX, await_quiet};
use tandem::groups::CoordinatorSettings;

/// Both protocols.
#[test]
fn kafka_4_3_0_answers_as_it_is_written() {
    answers_as_it_is_written("4.3.0", &["coordinator", "consumer"]);
}

/// It speaks an older version of the newer protocol.
#[test]
fn kafka_3_9_1_answers_as_it_is_written() {
    answers_as_it_is_written("3.9.1", &["coordinator"]);
}

/// A cluster for each set of rules that transcripts want. All are up before anything is asked: to
/// start one takes the time that transcripts measure.
fn answers_as_it_is_written(version: &str, protocols: &[&str]) {
    let _turn = turn();
    let protocols = protocols.iter().map(|folder| parity::transcripts(folder));
    let protocols: Vec<Vec<PathBuf>> = protocols.collect();
    let all = protocols.iter().flatten();
    let rules: BTreeSet<_> = all.map(|path| rules_of(&settings_of(path))).collect();
    let up = |rules: Vec<String>| {
        let set = rules.iter().flat_map(|rule| ["--set", rule]);
        let options: Vec<_> = ["--version", version].into_iter().chain(set).collect();
        let clusters = Clusters::up(1, &options);
        (rules, clusters)
    };
    let clusters: BTreeMap<_, _> = std::thread::scope(|scope| {
        let starts: Vec<_> = rules.into_iter().map(|rules| scope.spawn(|| up(rules))).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    // What starts a cluster takes the time that transcripts measure.
    await_quiet(NOISE_MAX);
    let address = |clusters: &Clusters| clusters.bootstraps[0].parse().unwrap();
    let own = format!("kafka-{version}");
    let make = |name: &str, settings: CoordinatorSettings| {
        Remote::new(address(&clusters[&rules_of(&settings)]), &["kafka", &own], name)
    };
    for paths in &protocols {
        parity::rehearse(paths, make);
        parity::assert_parity(paths, make);
    }
    let embedded = Embedded::new();
    let ours = treatment(embedded.start(CoordinatorSettings::default()));
    for clusters in clusters.values() {
        assert_eq!(treatment(address(clusters)), ours, "of strangers");
    }
}

/// The reaction to frames that are not requests, or of unknown requests: what is received until the
/// connection ends, or the first bytes of a response.
fn treatment(address: SocketAddr) -> Vec<(&'static str, Option<Vec<u8>>)> {
    // Number 7, no client id, no tags.
    let header = [0, 0, 0, 7, 0xff, 0xff, 0];
    let said = |key: i16, version: i16| {
        let body = [&key.to_be_bytes()[..], &version.to_be_bytes(), &header].concat();
        [&u32::try_from(body.len()).unwrap().to_be_bytes()[..], &body].concat()
    };
    let frames = [
        ("a request that does not exist", said(999, 0)),
        ("a negative one", said(-1, 0)),
        ("a version that is yet to come", said(3, 99)),
        ("a negative one of it", said(3, -2)),
        ("the question for versions, in one that is yet to come", said(18, 99)),
        ("too short for a body", said(12, 0)),
        ("a negative length", (-1_i32).to_be_bytes().to_vec()),
        ("the longest length", i32::MAX.to_be_bytes().to_vec()),
        ("a version of HTTP", b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n".to_vec()),
    ];
    let mut treated = Vec::new();
    for (what, frame) in frames {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(&frame).unwrap();
        // Length, then number and error code; what follows is the broker's own.
        let mut heard = [0; 10];
        match stream.read_exact(&mut heard) {
            Ok(()) => treated.push((what, Some(heard[4..].to_vec()))),
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("{what}: nothing"),
            Err(_) => treated.push((what, None)),
        }
    }
    treated
}

/// The rules that a transcript is played by.
fn settings_of(path: &Path) -> CoordinatorSettings {
    let text = std::fs::read_to_string(path).unwrap();
    let rules = text.lines().find(|line| line.starts_with("settings")).unwrap_or("settings");
    line::settings(&Line::parse(rules))
}

/// The broker settings for that, as Kafka names them.
fn rules_of(settings: &CoordinatorSettings) -> Vec<String> {
    vec![
        format!("group.initial.rebalance.delay.ms={}", settings.initial_delay.as_millis()),
        format!("group.max.size={}", settings.members_max),
        format!("group.consumer.max.size={}", settings.members_max),
        "group.consumer.migration.policy=disabled".to_owned(),
        "group.consumer.assignment.interval.ms=0".to_owned(),
        "group.consumer.min.assignment.interval.ms=0".to_owned(),
        format!("group.min.session.timeout.ms={}", settings.session_min.as_millis()),
    ]
}
