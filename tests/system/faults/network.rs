//! Faults of the network between members and their broker, all in one trial, each on a group of its
//! own: of what passes, all, one direction, or some requests are lost, held, refused or late.

use std::time::Duration;

use tandem::ids::FaultId;
use tandem::observation::{RunEvent, What};

use super::{Story, Strike, experiment};

const TOPOLOGY: &str = "\
version: 1
name: network
roles: [r, s, t, u]
clusters: {a: embedded}
defaults: {session: 3s, beacon: 300ms, mode: exclusive}
groups:
  drop: {cluster: a, members: 2}
  stall: {cluster: a, members: 2}
  reset: {cluster: a, members: 2}
  sent: {cluster: a, members: 2}
  heard: {cluster: a, members: 2}
  deaf: {cluster: a, members: 2}
  lost: {cluster: a, members: 2}
  beat: {cluster: a, members: 2}
  refused: {cluster: a, members: 2}
  slow: {cluster: a, members: 2}
  shared: {cluster: a, members: 2, mode: non-exclusive}
";

/// So much later than a fault is in force, it still is: it lasts for two seconds more.
const MEANWHILE: Duration = Duration::from_secs(8);

pub(super) const STEPS: [&str; 11] = [
    "{id: drop, fault: partition, for: 10s, target: {leader_of: any, group: drop}}",
    "{id: stall, fault: partition, behavior: stall, for: 10s, \
     target: {leader_of: any, group: stall}}",
    "{id: reset, fault: partition, behavior: reset, for: 10s, \
     target: {leader_of: any, group: reset}}",
    "{id: sent, fault: partition, direction: to_broker, for: 10s, \
     target: {leader_of: any, group: sent}}",
    "{id: heard, fault: partition, direction: to_member, for: 10s, \
     target: {leader_of: any, group: heard}}",
    "{id: deaf, fault: partition, apis: data, for: 10s, target: {leader_of: any, group: deaf}}",
    "{id: lost, fault: protocol, apis: [coordinator], behavior: drop, for: 10s, \
     target: {leader_of: any, group: lost}}",
    "{id: beat, fault: protocol, apis: [heartbeat], behavior: drop, for: 10s, \
     target: {leader_of: any, group: beat}}",
    "{id: refused, fault: protocol, apis: [heartbeat], error: NOT_COORDINATOR, for: 10s, \
     target: {leader_of: any, group: refused}}",
    "{id: slow, fault: slow, latency: 50ms, latency_jitter: 30ms, for: 4s, \
     target: {group: slow, mode: all}}",
    "{id: shared, fault: partition, for: 10s, target: {leader_of: any, group: shared}}",
];

#[test]
fn faults_of_the_network_end_claims_and_are_undone() {
    let story = Story::of(experiment(TOPOLOGY, &STEPS));
    // None of these leaders hears what it must: it claims nothing long before the fault is over.
    for step in ["drop", "stall", "reset", "sent", "heard", "deaf", "lost", "beat", "refused"] {
        let strike = story.leader(step);
        let claims = story.claims(strike.life(), strike.in_force + MEANWHILE);
        assert!(claims.is_empty(), "{strike:?} still leads {claims:?}\n{}", story.run);
    }
    // The group gives away what it led; without answers, or heartbeats, it may have it back.
    for step in ["drop", "stall", "reset", "sent", "deaf", "lost", "shared"] {
        let strike = story.leader(step);
        story.is_replaced(strike, strike.in_force);
    }
    for step in ["drop", "stall", "reset", "shared"] {
        is_answered_again(&story, story.only(step));
    }
    assert_eq!(story.all("slow").len(), 2, "{}", story.run);
}

/// The broker answers the victim when the fault is over.
fn is_answered_again(story: &Story, strike: &Strike) {
    let step = |fault: &FaultId| fault.step.as_str() == strike.step;
    let answers =
        |what: &What| matches!(what, What::Run(RunEvent::Reconnected { fault, .. }) if step(fault));
    let answered = story.when(strike.life(), answers);
    assert!(answered.is_some_and(|at| strike.in_force < at), "{strike:?}\n{}", story.run);
}
