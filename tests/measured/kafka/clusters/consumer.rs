//! `protocol: consumer` (KIP-848) on Apache Kafka: killed leaders, and a leave for the dead under
//! the session that brokers have by default.

use std::time::Duration;

use super::{experiment, require};
use support::kafka::Kafka;

const SOLO: &str = "topologies/kafka-solo.yaml";
const CONSUMER: &str = "defaults.protocol=consumer";
/// Above session, rebalance and first message.
const THRESHOLD: &str = "defaults.threshold=1600ms";
const EXCLUSIVE: &str = "defaults.mode=exclusive";

#[test]
fn killed_leaders_of_the_newer_protocol_are_missed_no_longer_than_the_plan_says() {
    let kafka = Kafka::one_of_the_pair();
    let kill = "{id: k, at: 500ms, jitter: 300ms, fault: kill, target: {leader_of: any}}";
    let claims = "assert:\n  - group.gap.max <= bound.group.gap\n";
    let file = experiment(&kafka, "kill-consumer", 3, &[kill.to_owned()], claims);
    let run = [file.as_str(), "-f", SOLO, "--set", CONSUMER];
    let run = [&run[..], &["--set", "defaults.restart.after=1500ms"]].concat();
    for mode in [THRESHOLD, EXCLUSIVE] {
        let run = [&run[..], &["--set", mode]].concat();
        let alone = mode == EXCLUSIVE;
        kafka.measured(&run, |report| {
            let overlaps = report.joint.overlap.count;
            require(!alone || overlaps == 0, || format!("{overlaps} overlaps"))
        });
    }
    // The controller leaves for the dead: at a heartbeat of 100 ms nothing of the session counts.
    let dead = ["defaults.on_death=leave", "defaults.session=45s", "defaults.heartbeat=100ms"];
    let dead: Vec<&str> = dead.iter().flat_map(|set| ["--set", set]).collect();
    kafka.measured(&[&run[..], &dead].concat(), |_| {
        let most = kafka.gaps(|_| true).into_iter().max().unwrap_or_default();
        require(most < Duration::from_millis(450), || format!("a gap of {most:?}"))
    });
}
