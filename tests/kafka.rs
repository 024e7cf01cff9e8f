//! The experiments on Apache Kafka itself: clusters that `deploy/kafka/up` starts, members of ours,
//! and what is measured. Needs Java 17 and Maven, and fails without them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a test may fail loudly"
)]
mod kafka_support;

use kafka_support::{Kafka, described, longest_stall_ms, median_ms};

const DUO: &str = "topologies/kafka-duo.yaml";
/// Session, heartbeat, and the most that the median gap of a kill may be, in milliseconds.
const PACES: [(&str, &str, f64); 3] =
    [("1s", "100ms", 1150.0), ("300ms", "30ms", 400.0), ("100ms", "30ms", 150.0)];

#[test]
fn a_killed_leader_is_missed_in_its_group_for_about_a_session_and_never_in_both() {
    let kafka = Kafka::up(2, &[]);
    for (session, heartbeat, most) in PACES {
        let session_set = format!("defaults.session={session}");
        let heartbeat_set = format!("defaults.heartbeat={heartbeat}");
        let set = ["--set", &session_set, "--set", &heartbeat_set];
        let run = ["chaos/kill-leader.yaml", "-f", DUO, "--trials", "3"];
        // A broker's own pause ends a session of 100 ms, and with it the verdict: the median
        // counts.
        let strict = session != "100ms";
        kafka.run_until(&[&run[..], &set[..]].concat(), |code, report| {
            require(code == Some(0) || (code == Some(3) && !strict), || format!("{code:?}"))?;
            require(report.joint.gap.count == 0 || !strict, || "no joint gap".to_owned())?;
            let median = median_ms(report, |_| true);
            let most = most + longest_stall_ms(report);
            require(median <= most, || format!("session {session}: {median} ms, above {most} ms"))
        });
    }
}

#[test]
fn twin_kills_are_found_and_pauses_are_survived() {
    let kafka = Kafka::up(2, &[]);
    kafka.measured(&["chaos/twin-kill.yaml", "-f", DUO, "--trials", "3"], |report| {
        require(report.joint.gap.count >= 3, || "a joint gap in each trial".to_owned())
    });
    kafka.measured(&["chaos/pause-leader.yaml", "-f", DUO, "--trials", "3"], |report| {
        require(report.joint.gap.count == 0, || "no joint gap".to_owned())
    });
}

/// Kills a leader in each group at once: one group is on Kafka, the other on the embedded broker.
const BOTH: &str = "\
version: 1
name: side-by-side
trials: 5
method:
  - {id: k, at: 500ms, jitter: 300ms, fault: kill, target: {leader_of: any, across: {groups: all}}}
objective: {joint_gap: 10s}
assert: [group.gap.max <= bound.group.gap]
";

#[test]
fn the_embedded_broker_takes_over_as_kafka_does() {
    let kafka = Kafka::up(1, &[]);
    let experiment = kafka.folder.path().join("side-by-side.yaml");
    std::fs::write(&experiment, BOTH).unwrap();
    let topology = kafka.folder.path().join("both.yaml");
    let duo = std::fs::read_to_string(DUO).unwrap();
    std::fs::write(&topology, duo.replace("{bootstrap: \"127.0.0.1:19102\"}", "embedded")).unwrap();
    for (session, heartbeat, tolerance) in [("1s", "100ms", 150.0), ("300ms", "30ms", 80.0)] {
        let run = [
            experiment.to_str().unwrap(),
            "-f",
            topology.to_str().unwrap(),
            "--set",
            &format!("defaults.session={session}"),
            "--set",
            &format!("defaults.heartbeat={heartbeat}"),
        ];
        kafka.measured(&run, |report| {
            let real = median_ms(report, |group| group == "p1");
            let embedded = median_ms(report, |group| group == "p2");
            let apart = (real - embedded).abs();
            require(apart <= tolerance + longest_stall_ms(report), || {
                format!("session {session}: Kafka {real} ms, embedded {embedded} ms")
            })
        });
    }
}

#[test]
fn kafkas_own_tool_says_what_the_members_claim() {
    described::agrees(&Kafka::up(1, &[]), 4);
}

#[test]
fn a_dead_coordinator_is_replaced_within_the_bound_and_comes_back() {
    let kafka = Kafka::up(1, &["--brokers", "3"]);
    let report = kafka.measured(&["chaos/kill-coordinator.yaml", "--trials", "1"], |_| Ok(()));
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

/// What must hold, and in words what does not.
fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}
