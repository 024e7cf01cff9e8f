//! `tandem apply` on a cluster of Apache Kafka: roles and members come and go, of a group that
//! hands over without a gap, of an exclusive one without two leaders.

use std::fs;

use rustix::process::Signal;
use support::applied::{Part, apply, is_disturbed, members, processes, shown, stands, written};
use support::kafka::Kafka;
use support::quiet::{NOISE_MAX, await_quiet, undisturbed};
use support::up::{Up, nothing_is_left};

/// With so many roles, and members a group.
fn topology(kafka: &Kafka, roles: usize, count: usize) -> String {
    format!(
        "version: 1\nname: grown-on-kafka\nroles: {{count: {roles}, prefix: slot-}}\n\
         clusters: {{a: {{bootstrap: \"{}\"}}}}\n\
         groups:\n  p1: {{cluster: a, members: {count}, partitions: 12}}\n  \
         p2: {{cluster: a, members: {count}, partitions: 12, mode: exclusive}}\n\
         objective: {{joint_gap: 0s}}\n",
        kafka.bootstraps[0]
    )
}

fn play(kafka: &Kafka) -> Vec<Part> {
    await_quiet(NOISE_MAX);
    let (_folder, file) = written(&topology(kafka, 3, 2));
    let mut up = Up::start(&format!("-f {}", file.display()));
    stands(&up, "every role led", |_| true);
    let before = processes(&up);
    for (roles, count) in [(30, 2), (30, 3), (3, 2)] {
        fs::write(&file, topology(kafka, roles, count)).unwrap();
        let (code, text) = apply(&up, &file, &[]);
        assert_eq!(code, Some(0), "{text}\n{}", up.said());
        stands(&up, &format!("{roles} roles, {count} members"), |picture| {
            picture.roles.len() == roles && members(picture) == [count, count]
        });
    }
    assert_eq!(processes(&up), before, "those that stay are not started again");
    up.signal(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", up.said());
    nothing_is_left(up.state());
    let parts = Part::all(&up);
    assert_eq!(parts.len(), 4, "a file each plan");
    for part in &parts {
        let found = &part.of("p2").overlaps;
        assert!(found.is_empty(), "an exclusive group: {found:?}");
    }
    parts
}

#[test]
fn roles_and_members_come_and_go_on_a_cluster_of_kafka() {
    let kafka = Kafka::one_of_the_pair();
    let disturbed = |parts: &Vec<Part>| is_disturbed(parts);
    let Some(parts) = undisturbed(|| play(&kafka), disturbed, |parts| shown(parts)) else { return };
    for (part, number) in parts.iter().zip(1..) {
        let gaps = &part.of("p1").gaps;
        assert!(gaps.is_empty(), "file {number}: {gaps:?}");
        let bounds = &part.recording.header.plan.groups["p2"].bounds;
        let most = bounds.restart.gap.high.max(bounds.leave.gap.high).get();
        let gaps = &part.of("p2").gaps;
        let short = gaps.iter().all(|gap| gap.span.length() <= most);
        assert!(short, "file {number}: {gaps:?}, bound {most:?}");
    }
}
