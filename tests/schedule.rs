//! What is drawn for a trial, and who is chosen: by the seed alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use tandem::chaos::{Experiment, Schedule, Sight, Target, Unresolved, experiment};
use tandem::ids::{GroupName, MemberId, PartitionId, TrialNumber};
use tandem::topology::{Plan, plan};

const KILL: &str = "{id: k, at: 500ms, jitter: 300ms, fault: kill, target: {leader_of: any}}";
const PAUSE: &str = "{id: p, after: k, delay: 1s, jitter: 7ns, fault: pause, for: 1s, \
                     target: {group: any, mode: minority}}";
const NOOP: &str = "{id: n, fault: noop, for: 1s}";

fn read(steps: &[&str]) -> Experiment {
    let steps: String = steps.iter().map(|step| format!("  - {step}\n")).collect();
    experiment(&format!("version: 1\nname: x\nmethod:\n{steps}")).unwrap().0
}

fn duo() -> Plan {
    plan(include_str!("../topologies/duo.yaml"), &[]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_seed_and_the_trial_decide_everything(seed: u64, trial in 1u32..1_000) {
        let trial = TrialNumber(trial);
        let all = read(&[KILL, PAUSE]);
        let schedule = Schedule::draw(&all, seed, trial);
        prop_assert_eq!(&schedule, &Schedule::draw(&all, seed, trial));
        prop_assert_ne!(&schedule, &Schedule::draw(&all, seed, TrialNumber(trial.0 + 1)));
        prop_assert_ne!(&schedule, &Schedule::draw(&all, seed.wrapping_add(1), trial));
    }

    #[test]
    fn jitter_stays_below_what_was_allowed(seed: u64) {
        let schedule = Schedule::draw(&read(&[KILL, PAUSE, NOOP]), seed, TrialNumber(1));
        let ms = Duration::from_millis;
        let [kill, pause, noop] = schedule.strikes.as_slice() else { panic!("three steps") };
        prop_assert!((ms(500)..ms(800)).contains(&kill.delay));
        prop_assert!(pause.after.as_ref().is_some_and(|step| step.as_str() == "k"));
        prop_assert!((ms(1_000)..ms(1_000) + Duration::from_nanos(7)).contains(&pause.delay));
        prop_assert_eq!(noop.delay, Duration::ZERO);
    }

    #[test]
    fn a_step_that_is_added_leaves_the_others_as_they_were(seed: u64) {
        let trial = TrialNumber(3);
        let few = Schedule::draw(&read(&[KILL, PAUSE]), seed, trial);
        let more = Schedule::draw(&read(&[NOOP, KILL, PAUSE]), seed, trial);
        prop_assert_eq!(&few.strikes[..], &more.strikes[1..]);
    }
}

/// Partition 0 is led by the first member, and so on; nobody leads partition 3.
fn leaders(group: &GroupName, partition: PartitionId) -> Vec<MemberId> {
    let leader = |number| format!("{group}-{number}").parse().unwrap();
    if partition.0 < 3 { vec![leader(partition.0 + 1)] } else { Vec::new() }
}

/// The third member of `p2` is dead.
fn living(group: &GroupName) -> Vec<MemberId> {
    let last = if group.as_str() == "p1" { 3 } else { 2 };
    (1..=last).map(|number| format!("{group}-{number}").parse().unwrap()).collect()
}

fn resolve(target: &str, seed: u64) -> Result<Vec<String>, Unresolved> {
    let plan = duo();
    let step = format!("{{fault: kill, target: {target}}}");
    let experiment = read(&[step.as_str()]);
    let target: &Target = experiment.method[0].target.as_ref().unwrap();
    let sight = Sight { plan: &plan, leaders: &leaders, living: &living };
    let victims = target.resolve(sight, seed)?;
    Ok(victims.iter().map(ToString::to_string).collect())
}

/// All that any seed chooses.
fn ever(target: &str) -> BTreeSet<Vec<String>> {
    (0..200).map(|seed| resolve(target, seed).unwrap()).collect()
}

fn sets(all: &[&[&str]]) -> BTreeSet<Vec<String>> {
    all.iter().map(|set| set.iter().map(ToString::to_string).collect()).collect()
}

#[test]
fn a_named_leader_is_whoever_leads() {
    assert_eq!(ever("{leader_of: usdjpy, group: p2}"), sets(&[&["p2-2"]]));
    assert_eq!(
        resolve("{leader_of: brent, group: p2}", 1).unwrap_err().to_string(),
        "nobody leads role brent in group p2"
    );
}

#[test]
fn any_leader_is_in_time_every_leader() {
    let all: Vec<[&str; 1]> = ["p1-1", "p1-2", "p1-3", "p2-1", "p2-2", "p2-3"].map(|m| [m]).into();
    let all: Vec<&[&str]> = all.iter().map(|set| &set[..]).collect();
    assert_eq!(ever("{leader_of: any, group: any}"), sets(&all));
}

#[test]
fn across_groups_it_is_the_same_role() {
    let across = "{leader_of: any, across: {groups: all}}";
    assert_eq!(ever(across), sets(&[&["p1-1", "p2-1"], &["p1-2", "p2-2"], &["p1-3", "p2-3"]]));
    assert!(resolve("{leader_of: brent, across: {groups: all}}", 1).is_err());
}

#[test]
fn a_number_of_members_is_chosen_among_the_living() {
    assert_eq!(ever("{group: p2, mode: one}"), sets(&[&["p2-1"], &["p2-2"]]));
    assert_eq!(ever("{group: p2, mode: all}"), sets(&[&["p2-1", "p2-2"]]));
    assert_eq!(ever("{group: p1, mode: minority}").len(), 3);
    assert_eq!(ever("{group: p1, mode: majority}").len(), 3);
    assert_eq!(ever("{group: p1, mode: 34%}").len(), 3);
    assert_eq!(ever("{group: p1, mode: leaders}"), sets(&[&["p1-1", "p1-2", "p1-3"]]));
    let few = resolve("{group: p2, mode: 3}", 1).unwrap_err();
    assert_eq!(few.to_string(), "2 of the 3 members of p2 that are wanted are running");
    assert_eq!(resolve("{member: p2-3}", 1).unwrap_err().to_string(), "member p2-3 is not running");
    assert_eq!(ever("{mode: one, across: {groups: all}}").len(), 6);
}
