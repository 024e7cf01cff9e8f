//! Groups of readers on the embedded broker: of one client each, and of several.

use support::foreign::Broker;
use support::foreign::groups::{CLASSIC, Group, NEWER, Protocol};
use support::foreign::log::{Judged, Line, judge};
use support::foreign::readers::Client;

fn reads_all(client: Client) {
    Group::new(&Broker::direct().address, "readers", Protocol::Usual, 6).reads_all(client);
}

#[test]
fn a_group_of_franz_go_loses_no_message() {
    reads_all(Client::FranzGo);
}

#[test]
fn a_group_of_kafkajs_loses_no_message() {
    reads_all(Client::KafkaJs);
}

#[test]
fn a_group_of_kafka_python_loses_no_message() {
    reads_all(Client::KafkaPython);
}

#[test]
fn a_group_of_java_loses_no_message() {
    reads_all(Client::Java);
}

/// Members of several clients come and go.
fn rebalances(protocol: Protocol, clients: &[Client], times: usize) {
    Group::new(&Broker::direct().address, "readers", protocol, 8).rebalance(clients, times);
}

#[test]
fn four_clients_share_a_classic_group() {
    rebalances(Protocol::Range, &CLASSIC, 3);
}

#[test]
fn three_clients_share_a_group_of_the_newer_protocol() {
    rebalances(Protocol::Consumer, &NEWER, 3);
}

#[test]
#[ignore = "takes minutes: tests/measure shared-group"]
fn shared_group() {
    rebalances(Protocol::Range, &CLASSIC, 50);
}

#[test]
#[ignore = "takes minutes: tests/measure shared-newer-group"]
fn shared_newer_group() {
    rebalances(Protocol::Consumer, &NEWER, 30);
}

#[test]
fn what_is_lost_or_heard_again_after_its_commit_is_found() {
    let judged = |text: &str| judge(&text.lines().map(Line::must).collect::<Vec<_>>());
    let fine = "a assigned 0 1\na heard 0:0-9 1:0-4\na committed 0:10\nb assigned 0\n\
                b heard 0:10-12\nc assigned 1\nc heard 1:0-4";
    assert_eq!(judged(fine), Judged { heard: 18, again: 5, wrong: Vec::new() });
    // It was committed before this member was assigned it.
    assert_eq!(judged(&fine.replace("0:10-12", "0:9-12")).wrong.len(), 1);
    // It was never assigned it.
    assert_eq!(judged(&fine.replace("c assigned", "d assigned")).wrong.len(), 1);
    // Nothing of it was heard.
    assert_eq!(judged(&fine.replace("0:0-9", "0:1-9")).heard, 17);
}
