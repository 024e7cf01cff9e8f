//! Groups of several clients on Apache Kafka, as `tests/broker/clients/groups.rs` has them on the
//! embedded broker. Needs Java 17 with its compiler, Maven and Python with venv.

use support::foreign::groups::{CLASSIC, Group, NEWER, Protocol};
use support::foreign::readers::Client;
use support::kafka::Kafka;

fn rebalances(name: &str, protocol: Protocol, clients: &[Client], times: usize) {
    let kafka = Kafka::one_of_the_pair();
    Group::new(&kafka.bootstraps[0], name, protocol, 8).rebalance(clients, times);
}

#[test]
fn four_clients_share_a_classic_group() {
    rebalances("shared-classic", Protocol::Range, &CLASSIC, 3);
}

#[test]
fn three_clients_share_a_group_of_the_newer_protocol() {
    rebalances("shared-newer", Protocol::Consumer, &NEWER, 5);
}

#[test]
#[ignore = "takes minutes: tests/measure kafka-shared-group"]
fn kafka_shared_group() {
    rebalances("shared-classic-long", Protocol::Range, &CLASSIC, 50);
}

#[test]
#[ignore = "takes minutes: tests/measure kafka-shared-newer-group"]
fn kafka_shared_newer_group() {
    rebalances("shared-newer-long", Protocol::Consumer, &NEWER, 30);
}
