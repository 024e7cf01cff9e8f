//! The comparison under `benches/broker` measures both brokers.

use support::foreign::{command, confluent, said};
use support::kafka::{free_ports, turn};

#[test]
fn starts_and_round_trips_of_both_brokers_are_measured() {
    let _turn = turn();
    let port = free_ports(1).to_string();
    let mut run = command(confluent::python());
    run.current_dir(support::ROOT).arg("benches/broker/run");
    run.args(["--starts", "1", "--round-trips", "20", "--json", "--base-port", &port]);
    run.args(["--tandem", support::program()]);
    let found: serde_json::Value = serde_json::from_str(&said(&mut run, "")).unwrap();
    for broker in ["embedded", "kafka"] {
        for (what, count) in [("start_ms", 1), ("trip_ms", 20)] {
            let one = &found[broker][what];
            assert_eq!(one["count"], count, "{found}");
            let ms = ["min", "median", "max"].map(|name| one[name].as_f64().unwrap());
            assert!(ms[0] > 0.0 && ms.is_sorted(), "{broker} {what}: {ms:?}");
        }
    }
}
