//! Python's confluent-kafka.

use support::foreign::confluent::script;
use support::foreign::{Broker, said};

both_ways!(confluent_kafka_produces_consumes_commits_rebalances_and_describes);

fn confluent_kafka_produces_consumes_commits_rebalances_and_describes(broker: &Broker) {
    assert_eq!(said(&mut script("client.py", &broker.address), ""), "everything worked\n");
}
