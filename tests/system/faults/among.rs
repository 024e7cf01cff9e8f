//! Every election among members side by side, beside one on Kafka: in each group the leader of a
//! role is killed. Of further groups a majority dies, one is cut off from the others, and one is
//! there twice.

use std::time::Duration;

use tandem::observation::{MemberEvent, What};

use super::{Story, experiment};

pub(super) const TOPOLOGY: &str = "\
version: 1
name: among
roles: [r, s, t, u]
clusters: {a: embedded}
defaults: {session: 3s, restart: {after: 4500ms}}
groups:
  neli: {cluster: a, members: 2}
  generation: {election: generation, members: 3}
  quorum: {election: quorum-lease, members: 3}
  bully: {election: bully, members: 3}
  allcall: {election: allcall, members: 3}
  ring: {election: ring, members: 3}
  zab: {election: zab, members: 3}
  few: {election: quorum-lease, members: 3}
  apart: {election: generation, members: 3}
  twice: {election: generation, members: 3}
";

const STEPS: [&str; 4] = [
    "{id: k, fault: kill, target: {leader_of: any, across: {within: 30s, \
     groups: [neli, generation, quorum, bully, allcall, ring, zab]}}}",
    "{id: few, fault: kill, target: {group: few, mode: majority}}",
    "{id: apart, fault: partition, for: 10s, target: {leader_of: any, group: apart}}",
    "{id: twice, fault: duplicate, for: 4s, target: {leader_of: any, group: twice}}",
];

/// Since a member is cut off: two sessions, and it is so for longer.
const MEANWHILE: Duration = Duration::from_secs(6);

#[test]
fn in_every_election_among_members_a_killed_leader_is_replaced() {
    let story = Story::of(experiment(TOPOLOGY, &STEPS));
    let kills = story.all("k");
    assert_eq!(kills.len(), 7, "{kills:?}\n{}", story.run);
    for kill in kills {
        assert!(!story.claims(kill.life(), kill.asked).is_empty(), "{kill:?}\n{}", story.run);
        story.has_ended(kill);
    }
    without_a_majority_none_leads(&story);
    one_that_is_cut_off_leads_no_more(&story);
    the_second_takes_no_part(&story);
}

/// The last one of three has no answers to count, and those that come back are silent at first.
fn without_a_majority_none_leads(story: &Story) {
    let dead = story.all("few");
    assert_eq!(dead.len(), 2, "{dead:?}\n{}", story.run);
    dead.iter().for_each(|strike| story.has_ended(strike));
    // A session after both are known to be dead; they come back later, and vote later still.
    let since = dead.iter().map(|strike| strike.in_force).max().unwrap();
    story.is_unled("few", since + Duration::from_millis(3_500));
}

fn one_that_is_cut_off_leads_no_more(story: &Story) {
    let strike = story.leader("apart");
    let claims = story.claims(strike.life(), strike.in_force + MEANWHILE);
    assert!(claims.is_empty(), "{strike:?} still leads {claims:?}\n{}", story.run);
    story.is_replaced(strike, strike.in_force);
}

/// It waits until the first process of its name has ended, and that lives on.
fn the_second_takes_no_part(story: &Story) {
    let second = story.only("twice").life();
    let led = story.when(second, |what| matches!(what, What::Member(MemberEvent::Claimed { .. })));
    assert_eq!(led, None, "{second} leads\n{}", story.run);
}
