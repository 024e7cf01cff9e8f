//! What takes clusters of its own kind: brokers that refuse a session, and brokers that die.

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

#[test]
fn a_cluster_that_refuses_the_session_is_found_before_anything_is_started() {
    let kafka = Kafka::up(1, &["--set", "group.min.session.timeout.ms=6000"]);
    let solo = "topologies/kafka-solo.yaml";
    let doctor = kafka.tandem(&["doctor", "-f", solo]).output().unwrap();
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert_eq!(doctor.status.code(), Some(1), "{said}");
    let cure = "set `group.min.session.timeout.ms=1000` on its brokers, or `session: 6s` here";
    assert!(said.lines().any(|line| line.starts_with("fail") && line.contains(cure)), "{said}");
    let out = kafka.folder.path().join("refused");
    let out = out.to_str().unwrap();
    let run = ["chaos", "run", "chaos/kill-leader.yaml", "-f", solo, "--out", out];
    let run = kafka.tandem(&run).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(1), "{said}");
    assert!(said.contains(cure), "{said}");
}
