//! Members on two clusters of Apache Kafka 4.3 that all tests here share: leaders that are killed,
//! fences, what Kafka's own tool says, and a session that brokers refuse. Needs Java 17 and Maven,
//! and fails without them.

use rustix::process::Signal;
use support::exclusive::fences_rise;
use support::experiment::{Experiment, PATIENCE};
use support::fences_apart::Apart;
use support::kafka::heirs::heir;
use support::kafka::secured::{self, said};
use support::kafka::{Kafka, described};
use support::up::{Up, nothing_is_left};
use support::waiting::eventually_ok;
use tandem::live_view::Level;
use tandem::neli::membership::epoch;
use tandem::observation::Fact;

const DUO: &str = "topologies/kafka-duo.yaml";
const SOLO: &str = "topologies/kafka-solo.yaml";

/// A leader in each group.
const KILLS: &str = "\
version: 1
name: kills
method:
  - {id: k, at: 500ms, fault: kill, target: {leader_of: any, group: p1}}
  - {id: l, after: k, delay: 200ms, fault: kill, target: {leader_of: any, group: p2}}
recover: {within: 5m}
objective: {leaders_per_group: 0}
";

/// One group of each protocol, and of each mode. No stall of the host ends such a session, and the
/// dead are back only after others had the time to take over.
const BOTH: &str = "--set groups.p2.protocol=consumer --set groups.p2.mode=exclusive \
                    --set defaults.session=6s --set defaults.heartbeat=500ms \
                    --set defaults.restart.after=40s";

#[test]
fn others_lead_in_later_terms_after_leaders_on_two_clusters_were_killed() {
    let kafka = Kafka::shared_beside(2, &[]);
    let args = format!("-f {DUO} {BOTH} {}", kafka.placed().join(" "));
    let run = Experiment::of("kills.yaml", KILLS).with(&args).in_state(&kafka.state()).finish();
    run.sound();
    let facts = run.recording().facts;
    for fault in ["1.k", "1.l"] {
        let (victim, heir) = heir(&facts, fault).unwrap_or_else(|what| panic!("{what}\n{run}"));
        println!("{fault}: {heir} after {victim}");
    }
    let of_p2 = |fact: &Fact| {
        fact.life.as_ref().is_some_and(|life| life.member.as_str().starts_with("p2-"))
    };
    let exclusive: Vec<Fact> = facts.into_iter().filter(of_p2).collect();
    fences_rise(&exclusive).unwrap_or_else(|what| panic!("{what}\n{run}"));
}

/// Another host leads, whose clock is hours behind, in a group of the newer protocol. With more
/// hosts and times in `tests/measured/kafka/clusters/fences.rs`.
#[test]
fn another_host_goes_on_with_the_fences_of_a_deleted_topic() {
    let kafka = Kafka::shared_beside(1, &[]);
    let mut all = Apart::on(&kafka.bootstraps[0]);
    all.was_ahead(0, 3);
    all.lead_on(0);
    all.lead_by(1, "consumer");
    let risen = all.risen().unwrap_or_else(|what| panic!("{what}"));
    let [first, second] = risen[..] else { panic!("they led twice: {risen:?}") };
    assert!(epoch(first.0) <= epoch(second.0) && epoch(second.1) <= epoch(first.1), "{risen:?}");
}

#[test]
fn kafkas_own_tool_agrees_with_the_members_claims() {
    let kafka = Kafka::shared_beside(1, &[]);
    // Nothing moves, however slow the tool is.
    let calm = "--set defaults.session=30s --set defaults.heartbeat=1s";
    let mut up = Up::start(&format!("-f {SOLO} {calm} {}", kafka.placed().join(" ")));
    up.await_health(Level::Led);
    eventually_ok("Kafka's own tool agrees", PATIENCE, || {
        described::agree(&kafka, "kafka-solo-p1", &up.recording().facts)
    });
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
}

/// What `tandem doctor` and a run say of this pace.
fn refused(kafka: &Kafka, pace: &[&str], cures: &[&str]) {
    let set: Vec<&str> = pace.iter().flat_map(|pace| ["--set", pace]).collect();
    let doctor = [&["doctor", "-f", SOLO][..], &set].concat();
    let doctor = said(kafka.tandem(&doctor));
    assert_eq!(doctor.code, Some(1), "{}", doctor.text);
    for cure in cures {
        let is_it = |line: &str| line.starts_with("fail") && line.contains(cure);
        assert!(doctor.text.lines().any(is_it), "{cure:?} is not in {}", doctor.text);
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("refused");
    let run = ["chaos", "run", "chaos/kill-leader.yaml", "-f", SOLO, "--out"];
    let run = [&run[..], &[out.to_str().unwrap()], &set].concat();
    let run = said(kafka.tandem(&run));
    secured::refused(&run, cures[0]);
    assert!(!out.join("logs/p1-1.log").exists(), "a member was started");
}

#[test]
fn a_cluster_that_refuses_the_session_is_found_before_anything_is_started() {
    let kafka = Kafka::shared_beside(1, &[]);
    refused(
        &kafka,
        &["defaults.session=90ms", "defaults.heartbeat=30ms"],
        &["set `group.min.session.timeout.ms=90` on its brokers, or `session: 100ms` here"],
    );
    // A group of the newer protocol has limits of its own.
    let min = "set `group.consumer.min";
    let session = format!("{min}.session.timeout.ms=90` on its brokers, or `session: 100ms` here");
    let heartbeat =
        format!("{min}.heartbeat.interval.ms=40` on its brokers, or `heartbeat: 50ms` here");
    refused(
        &kafka,
        &["defaults.protocol=consumer", "defaults.session=90ms", "defaults.heartbeat=40ms"],
        &[&session, &heartbeat],
    );
}
