//! Clients that others wrote, through edges to the three brokers of a real Kafka: they work, they
//! speak the newest versions that there are, and no byte of theirs goes past its edges. Needs kcat,
//! Python with venv, Java 17 and Maven, and fails without them.

#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test may fail loudly"
)]

mod java;
mod kcat;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use kafka_protocol::messages::ApiKey;
use support::edge::carried::carried;
use support::edge::doors::{Doors, Seen};
use support::edge::process::Edges;
use support::edge::traffic::{self, Tally};
use support::foreign::{Broker, said};
use support::kafka::{Kafka, free_ports};

const BROKERS: u16 = 3;
/// How long traffic is carried to a broker to which nothing happens.
const TRAFFIC: Duration = Duration::from_secs(5);

/// Signals the end when this value is dropped, for any reason.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Sessions that bear a busy machine: no partition is to lose its only leader, and no consumer of
/// Java's its place, after which it would hear again what it has not committed.
const PATIENT: [&str; 6] = [
    "--set",
    "broker.session.timeout.ms=60000",
    "--set",
    "controller.quorum.fetch.timeout.ms=30000",
    "--set",
    "group.consumer.session.timeout.ms=45000",
];

#[test]
fn clients_work_through_edges_to_three_brokers_and_never_leave_them() {
    let base = free_ports(2);
    let (first, broker) = (base as u16 + 10, base as u16);
    let doors = Doors::open(first, broker, BROKERS);
    let places = [base, base + 10].map(|port| port.to_string());
    let options = ["--brokers", "3", "--base-port", &places[0], "--advertise", &places[1]];
    let kafka = Kafka::up_beside(1, &[&options[..], &PATIENT].concat());
    let mut edges = Edges::start();
    let names = ["kcat-1", "python-1", "java-1", "rdkafka-2", "kcat-2"];
    let ways = names.map(|name| edges.open(name, &doors.bootstrap()));
    let [kcat, python, java, rdkafka_traffic, kcat_traffic] = &ways;
    let java_is_through = AtomicBool::new(false);
    let over = || java_is_through.load(Ordering::SeqCst);
    thread::scope(|scope| {
        scope.spawn(|| kcat::works(kcat, &doors));
        scope.spawn(|| {
            let client = &mut support::foreign::confluent::script("client.py", python);
            assert_eq!(said(client, ""), "everything worked\n");
        });
        let traffic = scope.spawn(|| traffic::rdkafka(rdkafka_traffic, java::MOVES[1], &over));
        let other = scope.spawn(|| traffic::kcat(kcat_traffic, java::MOVES[2], &over));
        let through = Over(&java_is_through);
        java::works(&kafka, &doors, java);
        drop(through);
        whole(traffic.join().unwrap());
        whole(other.join().unwrap());
    });
    let seen = doors.seen();
    no_other_connection_arrived(&seen, &doors, edges.id());
    negotiated(&seen);
}

#[test]
fn traffic_comes_whole_from_the_embedded_broker() {
    let broker = Broker::direct();
    let carried = carried(&broker.address, TRAFFIC);
    assert!(carried.is_whole(), "{carried}");
}

/// Some messages, each once and in order.
fn whole(tally: Tally) {
    assert!(tally.is_whole() && tally.messages > 0, "{tally:?}");
}

/// Only the edges and Kafka itself connected to the doors; any other connection is noticed.
fn no_other_connection_arrived(seen: &Seen, doors: &Doors, edges: u32) {
    let mut by_edges = BTreeMap::new();
    for ((door, owner), count) in &seen.connections {
        let kafka = owner.command.contains(" kafka.Kafka ");
        assert!(kafka || owner.pid == edges, "{owner} came to {door} past its edge");
        if !kafka {
            by_edges.insert(*door, *count);
        }
    }
    eprintln!("connections of the edges: {by_edges:?}");
    assert_eq!(by_edges.keys().copied().collect::<Vec<_>>(), doors.ports().collect::<Vec<_>>());
    let _stranger = std::net::TcpStream::connect(("127.0.0.1", doors.ports().next().unwrap()));
    support::foreign::eventually("a stranger", || {
        let found = doors.seen().connections;
        found.keys().any(|(_, owner)| owner.pid == std::process::id()).then_some(())
    });
}

/// The newest version that each client made of a request: what it speaks itself, and not less for
/// the edges. Java's clients are of the brokers' release, and speak all that there is.
const NEWEST: [(&str, ApiKey, i16); 14] = [
    ("console-producer", ApiKey::ApiVersions, 4),
    ("console-producer", ApiKey::Metadata, 13),
    ("console-producer", ApiKey::Produce, 13),
    ("console-consumer", ApiKey::Fetch, 18),
    ("console-consumer", ApiKey::FindCoordinator, 6),
    ("console-consumer", ApiKey::JoinGroup, 9),
    ("console-consumer", ApiKey::ConsumerGroupHeartbeat, 1),
    ("adminclient-1", ApiKey::DescribeTopicPartitions, 0),
    ("adminclient-1", ApiKey::DescribeCluster, 2),
    ("adminclient-1", ApiKey::ConsumerGroupDescribe, 1),
    ("python", ApiKey::Fetch, 16),
    ("python", ApiKey::Produce, 10),
    ("rdkafka-traffic", ApiKey::Fetch, 16),
    ("rdkafka-traffic", ApiKey::Metadata, 13),
];

fn negotiated(seen: &Seen) {
    for (client, key, version) in NEWEST {
        let newest = seen.versions(client, key).last().copied();
        assert_eq!(newest, Some(version), "{client}, {key:?}: {:?}", seen.requests.get(client));
    }
    // Responses named the new leaders with their addresses, and clients found them behind their
    // edges.
    eprintln!("responses that named a new leader: {:?}", seen.redirected);
    assert!(!seen.redirected.is_empty(), "no leader moved under a client");
}
