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
    let limits = [
        "group.min.session.timeout.ms=6000",
        // As brokers have them by default.
        "group.consumer.session.timeout.ms=45000",
        "group.consumer.min.session.timeout.ms=45000",
        "group.consumer.heartbeat.interval.ms=5000",
        "group.consumer.min.heartbeat.interval.ms=5000",
    ];
    let limits: Vec<&str> = limits.iter().flat_map(|limit| ["--set", limit]).collect();
    let kafka = Kafka::up_beside(1, &limits);
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
    // A group of the newer protocol has limits of its own.
    let consumer = ["doctor", "-f", solo, "--set", "defaults.protocol=consumer"];
    let doctor = kafka.tandem(&consumer).output().unwrap();
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert_eq!(doctor.status.code(), Some(1), "{said}");
    for cure in [
        "session.timeout.ms=1000` on its brokers, or `session: 45s` here",
        "heartbeat.interval.ms=100` on its brokers, or `heartbeat: 5s` here",
    ] {
        let cure = format!("set `group.consumer.min.{cure}");
        assert!(said.lines().any(|it| it.starts_with("fail") && it.contains(&cure)), "{said}");
    }
}
