//! Every election on Kafka side by side: in each group the leader of a role is killed, at once.

use std::time::Duration;

use support::stand_in::stand_ins;

use super::{Story, Strike, experiment};

/// `left` and `linked` must not wait for a session: theirs is much longer than a takeover.
pub(super) const TOPOLOGY: &str = "\
version: 1
name: elections
roles: [r, s, t, u]
clusters: {a: embedded}
defaults: {session: 3s, beacon: 300ms, restart: {after: 4500ms}}
groups:
  neli: {cluster: a, members: 2}
  owners: {cluster: a, members: 2, beacons: owners}
  library: {cluster: a, members: 2, membership: librdkafka, threshold: 3500ms}
  static: {cluster: a, members: 2, static_members: true}
  exclusive: {cluster: a, members: 2, mode: exclusive}
  paper: {cluster: a, members: 2, mode: exclusive-paper, session: 4s, restart: {after: 7500ms}}
  fast: {cluster: a, members: 2, mode: fast}
  left:
    cluster: a
    members: 2
    on_death: leave
    session: 40s
    heartbeat: 300ms
    restart: {after: 2s}
  linked:
    cluster: a
    members: 3
    on_death: stand-in
    session: 40s
    heartbeat: 300ms
    restart: {after: 2s}
  newer: {cluster: a, members: 2, protocol: consumer}
  proved: {cluster: a, members: 2, protocol: consumer, mode: exclusive}
";

/// The shortest time after which brokers expel a silent member of `left` and `linked`.
const SESSION: Duration = Duration::from_secs(39);

#[test]
fn in_every_election_on_kafka_a_killed_leader_is_replaced() {
    let step = "{id: k, fault: kill, target: {leader_of: any, across: {groups: all, within: 30s}}}";
    let story = Story::of(experiment(TOPOLOGY, &[step]));
    let kills = story.all("k");
    assert_eq!(kills.len(), story.header.plan.groups.len(), "{kills:?}\n{}", story.run);
    for kill in kills {
        assert!(!story.claims(kill.life(), kill.asked).is_empty(), "{kill:?}\n{}", story.run);
        story.has_ended(kill);
        match story.group_of(kill.life()).as_str() {
            "left" => no_session_was_awaited(&story, kill),
            "linked" => {
                no_session_was_awaited(&story, kill);
                let found = stand_ins(&story.facts);
                let in_place = found.iter().any(|claim| claim.of == *kill.life());
                assert!(in_place, "none stood in for {kill:?}: {found:?}\n{}", story.run);
            }
            _ => {}
        }
    }
}

/// Others lead before the group can have missed the dead by itself.
fn no_session_was_awaited(story: &Story, kill: &Strike) {
    for partition in story.claims(kill.life(), kill.asked) {
        let next = story.next_claim(kill.life(), partition, kill.asked);
        let soon = next.is_some_and(|at| at.since(kill.asked) < SESSION);
        assert!(soon, "{kill:?}: {partition} at {next:?}\n{}", story.run);
    }
}
