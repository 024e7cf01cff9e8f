//! A cluster for itself: the broker that coordinates a group dies.

use support::kafka::Kafka;

#[test]
fn a_dead_coordinator_is_replaced_within_the_bound_and_comes_back() {
    let kafka = Kafka::up(1, &["--brokers", "3"]);
    let run = ["chaos/kill-coordinator.yaml", "--trials", "1"];
    let Some(report) = kafka.measured(&run, |_| Ok(())) else { return };
    assert_eq!(report.faults.len(), 1);
    let fault = &report.faults[0];
    assert!(fault.failed.is_none() && fault.healed_ms.is_some(), "{fault:?}");
}
