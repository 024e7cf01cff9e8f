//! Faults that are series: a rollout, a churn and a storm, each on a group of its own, at once.

use std::collections::BTreeSet;

use support::experiment::{output, tandem};
use tandem::ids::GroupName;
use tandem::observation::{Ending, MemberEvent, What};

use super::{Story, Strike, experiment};

const TOPOLOGY: &str = "\
version: 1
name: series
roles: [r, s, t, u]
clusters: {a: embedded}
defaults: {session: 3s, beacon: 300ms, restart: {after: 4500ms}}
groups:
  rolled: {cluster: a, members: 2}
  churned: {cluster: a, members: 3}
  stormed: {cluster: a, members: 3}
";

/// No series has time to hit a member again before it is back.
pub(super) const STEPS: [&str; 3] = [
    "{id: r, fault: rollout, restart_after: 500ms, target: {group: rolled, mode: all}}",
    "{id: c, fault: churn, for: 6s, every: 2s, restart_after: 1s, \
     target: {group: churned, mode: all}}",
    "{id: s, fault: storm, for: 6s, every: 2s, hold: 1s, \
     faults: {kill: 1, leave: 1, stop: 1, pause: 1, partition: 1}, \
     target: {group: stormed, mode: all}}",
];

/// With this seed the storm is of a kill, a pause and a partition.
const SEED: &str = "--seed 28";

#[test]
fn a_rollout_a_churn_and_a_storm_strike_as_they_were_drawn() {
    let story = Story::of(experiment(TOPOLOGY, &STEPS).with(SEED));
    let drawn = |strike: &Strike| {
        (strike.step.clone(), strike.kind.clone(), strike.life().member.to_string())
    };
    let done: BTreeSet<_> = story.strikes.iter().map(drawn).collect();
    assert_eq!(done, previewed(&story), "{}", story.run);
    let of = |series: &str| {
        let begins = format!("{series}-");
        story.strikes.iter().filter(move |strike| strike.step.starts_with(&begins))
    };
    let storm: BTreeSet<_> = of("s").map(|strike| strike.kind.as_str()).collect();
    assert_eq!(storm, BTreeSet::from(["kill", "partition", "pause"]), "{}", story.run);
    assert_eq!((of("c").count(), of("s").count()), (3, 3), "{}", story.run);
    for strike in &story.strikes {
        match strike.kind.as_str() {
            "kill" | "leave" | "stop" => story.has_ended(strike),
            "pause" => story.stood_still(strike),
            _ => {}
        }
    }
    each_member_was_rolled_in_turn(&story);
}

/// What the dry run of the same seed says: each strike, its fault and its victim.
fn previewed(story: &Story) -> BTreeSet<(String, String, String)> {
    let folder = story.run.folder.path();
    let preview = output(
        tandem(folder)
            .args(["chaos", "run", "--dry-run", "-o", "json"])
            .args(SEED.split(' '))
            .args([folder.join("faults.yaml"), "-f".into(), folder.join("topology.yaml")]),
    );
    assert!(preview.status.success(), "{}", String::from_utf8_lossy(&preview.stderr));
    let preview: serde_json::Value = serde_json::from_slice(&preview.stdout).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let strikes = preview["schedule"][0]["strikes"].as_array().unwrap().iter();
    strikes.map(|it| (text(&it["step"]), text(&it["fault"]), text(&it["to"]))).collect()
}

/// One after the other, each once the one before it is back; and what they led was handed over.
fn each_member_was_rolled_in_turn(story: &Story) {
    let rolled = ["r-1", "r-2"].map(|step| story.only(step));
    let members = rolled.map(|strike| strike.life().member.as_str());
    assert_eq!(members, ["rolled-1", "rolled-2"], "{}", story.run);
    assert!(rolled[0].healed <= rolled[1].asked, "{rolled:?}\n{}", story.run);
    let group: GroupName = "rolled".parse().unwrap();
    let handed = story.of_group(&group).into_iter().filter(|fact| {
        matches!(fact.what, What::Member(MemberEvent::Lapsed { why: Ending::HandedOver, .. }))
    });
    assert!(handed.count() > 0, "nothing was handed over\n{}", story.run);
}
