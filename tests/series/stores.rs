//! Elections over real stores, in full counts. `tests/measure NAME` runs them.

use std::time::Duration;

use support::experiment::Experiment;
use support::results::{Claims, Row, append};
use support::series::{Series, await_turn, folder, shown};
use support::stores::{
    isolated_from_etcd, isolated_from_zookeeper, servers_stopped_in_turn, stores_lost_in_turn,
};
use support::zookeeper::ZooKeeper;
use tandem::ids::GroupName;

/// Twenty of a step against the leader of a role of the group over ZooKeeper.
fn twenty(name: &'static str, step: &str) {
    let zookeeper = ZooKeeper::up();
    let text = format!(
        "version: 1\nname: {name}\ntrials: 20\ndisturbed: {{stall: 50ms}}\nmethod:\n  \
         - {{id: f, at: 500ms, jitter: 300ms, {step}, target: {{leader_of: any, group: p2}}}}\n\
         objective: {{joint_gap: 0s}}\nassert:\n  - group.gap.max <= bound.group.gap\n  \
         - group.overlap.max <= bound.group.overlap\n"
    );
    let experiment = || Experiment::of("zookeeper.yaml", &text).with(&zookeeper.mixed());
    let mut series = Series::of(name, 20, experiment);
    series.claim_no_joint_gap();
    let p2: GroupName = "p2".parse().unwrap();
    let overlaps = series.spans(|run| run.groups[&p2].findings.overlaps.iter().collect());
    series.claims.add("two never lead in p2", shown(&overlaps), overlaps.is_empty());
    let text = series.missed();
    series.conclude(&text);
}

#[test]
#[ignore = "takes minutes: tests/measure zookeeper-kill"]
fn zookeeper_kill() {
    twenty("zookeeper-kill", "fault: kill");
}

#[test]
#[ignore = "takes minutes: tests/measure zookeeper-pause"]
fn zookeeper_pause() {
    twenty("zookeeper-pause", "fault: pause, for: 4s");
}

/// Twenty leaders that are cut off from their store, none for longer than its bound and a stall.
fn isolations(name: &str, isolated: fn(usize, Duration) -> Vec<Duration>, bound: u64) {
    await_turn();
    let longest = Duration::from_millis(bound + 50);
    let mut gaps = isolated(20, longest);
    gaps.sort_unstable();
    let at = |number: usize| gaps.get(number).map_or(0, Duration::as_millis);
    let (count, last) = (gaps.len(), gaps.len().saturating_sub(1));
    let (least, median, most) = (at(0), at(count / 2), at(last));
    let measured = format!("{count} gaps of p2: {least} to {most} ms, median {median} ms");
    let mut claims = Claims::default();
    claims.add("two never lead, and gaps are within", format!("{longest:?}"), true);
    let row = Row::without_trials(20, &measured);
    append(name, &folder(name), &row, &claims);
}

#[test]
#[ignore = "takes two minutes: tests/measure zookeeper-isolate"]
fn zookeeper_isolate() {
    isolations("zookeeper-isolate", isolated_from_zookeeper, 610);
}

/// Each server of an ensemble is stopped twice, for less than a session and for longer.
#[test]
#[ignore = "takes two minutes: tests/measure zookeeper-servers"]
fn zookeeper_servers() {
    await_turn();
    let mut measured = Vec::new();
    for seconds in [3, 8] {
        let gaps = servers_stopped_in_turn(6, Duration::from_secs(seconds));
        measured.push(format!("stopped for {seconds} s, gaps of p2 {gaps:?}"));
    }
    let mut claims = Claims::default();
    claims.add("two never lead", "none did", true);
    let row = Row::without_trials(12, &measured.join("; "));
    append("zookeeper-servers", &folder("zookeeper-servers"), &row, &claims);
}

#[test]
#[ignore = "takes two minutes: tests/measure etcd-isolate"]
fn etcd_isolate() {
    isolations("etcd-isolate", isolated_from_etcd, 910);
}

#[test]
#[ignore = "takes four minutes: tests/measure stores-lost"]
fn stores_lost() {
    await_turn();
    let joint = stores_lost_in_turn(Duration::from_secs(30));
    let mut claims = Claims::default();
    claims.add("no joint gap while one store is there", "none", true);
    let measured = format!("without any store, joint gaps {joint:?}");
    let row = Row::without_trials(5, &measured);
    append("stores-lost", &folder("stores-lost"), &row, &claims);
}
