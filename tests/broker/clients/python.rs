//! Python's confluent-kafka.

use support::foreign::confluent::client;
use support::foreign::{Broker, said};

both_ways!(confluent_kafka_produces_consumes_commits_rebalances_and_describes);

fn confluent_kafka_produces_consumes_commits_rebalances_and_describes(broker: &Broker) {
    assert_eq!(said(&mut client(&broker.address), ""), "everything worked\n");
}
