//! What is drawn for a trial, and who is chosen: by the seed alone.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use support::cases::cases;
use tandem::chaos::{Experiment, Kind, Schedule, Sight, Strike, Target, Unresolved, experiment};
use tandem::ids::{GroupName, MemberId, PartitionId, TrialNumber};
use tandem::topology::{Plan, Share, plan};

const KILL: &str = "{id: k, at: 500ms, jitter: 300ms, fault: kill, target: {leader_of: any}}";
const PAUSE: &str = "{id: p, after: k, delay: 1s, jitter: 7ns, fault: pause, for: 1s, \
                     target: {group: any, mode: minority}}";
const STORM: &str = "{id: s, at: 500ms, fault: storm, faults: {kill: 2, leave: 1, pause: 1}, \
                     hold: 3s";
const NOOP: &str = "{id: n, fault: noop, for: 1s}";

fn read(steps: &[&str]) -> Experiment {
    let steps: String = steps.iter().map(|step| format!("  - {step}\n")).collect();
    experiment(&format!("version: 1\nname: x\nmethod:\n{steps}")).unwrap().0
}

fn draw(experiment: &Experiment, seed: u64, trial: TrialNumber) -> Schedule {
    Schedule::draw(experiment, &duo(), seed, trial)
}

fn duo() -> Plan {
    plan(include_str!("../../topologies/duo.yaml"), &[]).unwrap()
}

/// For how long at least a strike of the storm has its victim in its hands, by the topology's own
/// restart after two seconds.
fn gone(strike: &Strike) -> Duration {
    strike.step.fault.lasts().unwrap_or(Duration::from_secs(2))
}

fn victim(strike: &Strike) -> MemberId {
    let Some(Target::Member(member)) = &strike.step.target else { panic!("{strike:?}: a member") };
    member.clone()
}

proptest! {
    #![proptest_config(cases(0x5EED_0025, 64))]

    #[test]
    fn the_seed_and_the_trial_decide_everything(seed: u64, trial in 1u32..1_000) {
        let trial = TrialNumber(trial);
        let all = read(&[KILL, PAUSE]);
        let schedule = draw(&all, seed, trial);
        prop_assert_eq!(&schedule, &draw(&all, seed, trial));
        prop_assert_ne!(&schedule, &draw(&all, seed, TrialNumber(trial.0 + 1)));
        prop_assert_ne!(&schedule, &draw(&all, seed.wrapping_add(1), trial));
    }

    #[test]
    fn jitter_stays_below_its_maximum(seed: u64) {
        let schedule = draw(&read(&[KILL, PAUSE, NOOP]), seed, TrialNumber(1));
        let ms = Duration::from_millis;
        let [kill, pause, noop] = schedule.strikes.as_slice() else { panic!("three steps") };
        prop_assert!((ms(500)..ms(800)).contains(&kill.delay));
        prop_assert!(pause.after.as_ref().is_some_and(|step| step.as_str() == "k"));
        prop_assert!((ms(1_000)..ms(1_000) + Duration::from_nanos(7)).contains(&pause.delay));
        prop_assert_eq!(noop.delay, Duration::ZERO);
    }

    #[test]
    fn a_storm_is_its_seed_and_keeps_to_its_limits(
        seed: u64, trial in 1u32..1_000, every in 200u64..5_000, members in 1u32..3,
        groups in 1u32..3,
    ) {
        let mut storm = read(&[&format!("{STORM}, for: 60s, every: {every}ms}}")]);
        storm.limits.members = Some(Share::Count(members));
        storm.limits.groups = Some(groups);
        let trial = TrialNumber(trial);
        let schedule = draw(&storm, seed, trial);
        prop_assert_eq!(&schedule, &draw(&storm, seed, trial));
        prop_assert_ne!(&schedule, &draw(&storm, seed.wrapping_add(1), trial));
        prop_assert!(!schedule.strikes.is_empty());
        let names: BTreeSet<_> = schedule.strikes.iter().map(|strike| &strike.step.id).collect();
        prop_assert_eq!(names.len(), schedule.strikes.len(), "each has a name of its own");
        for strike in &schedule.strikes {
            // One in each round, at any instant of it.
            let from = strike.delay - Duration::from_millis(500);
            prop_assert!(from < Duration::from_mins(1));
            let there = || schedule.strikes.iter().filter(|one| {
                one.delay <= strike.delay && strike.delay < one.delay + gone(one)
            });
            let down: BTreeSet<_> = there().map(victim).collect();
            prop_assert_eq!(down.len(), there().count(), "no absent member is hit");
            for group in ["p1", "p2"] {
                let down = down.iter().filter(|member| member.as_str().starts_with(group)).count();
                prop_assert!(down <= usize::try_from(members).unwrap(), "{:?}", down);
            }
            let hit: BTreeSet<_> = down.iter().map(|member| &member.as_str()[..2]).collect();
            prop_assert!(hit.len() <= usize::try_from(groups).unwrap(), "{:?}", hit);
        }
    }

    #[test]
    fn a_step_that_is_added_leaves_the_others_as_they_were(seed: u64) {
        let trial = TrialNumber(3);
        let few = draw(&read(&[KILL, PAUSE]), seed, trial);
        let more = draw(&read(&[NOOP, KILL, PAUSE]), seed, trial);
        prop_assert_eq!(&few.strikes[..], &more.strikes[1..]);
    }
}

/// The first member leads partition 0, and so on; partition 3 has no leader.
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
fn a_named_leader_is_the_current_one() {
    assert_eq!(ever("{leader_of: usdjpy, group: p2}"), sets(&[&["p2-2"]]));
    assert_eq!(
        resolve("{leader_of: brent, group: p2}", 1).unwrap_err().to_string(),
        "role brent in group p2 has no leader"
    );
}

#[test]
fn any_leader_eventually_hits_every_leader() {
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
    assert_eq!(few.to_string(), "only 2 of 3 wanted members of p2 are running");
    assert_eq!(resolve("{member: p2-3}", 1).unwrap_err().to_string(), "member p2-3 is not running");
    assert_eq!(ever("{mode: one, across: {groups: all}}").len(), 6);
}

#[test]
fn churn_is_of_one_group_and_a_storm_strikes_with_everything_that_it_names() {
    let step = "{id: c, fault: churn, for: 30s, every: 1s, target: {group: any}}";
    let churn = read(&[step]);
    let mut ever = BTreeSet::new();
    for seed in 0..50 {
        let schedule = draw(&churn, seed, TrialNumber(1));
        let groups: BTreeSet<_> =
            schedule.strikes.iter().map(|strike| victim(strike).as_str()[..2].to_owned()).collect();
        assert_eq!(groups.len(), 1, "seed {seed}: {groups:?}");
        ever.extend(groups);
    }
    assert_eq!(ever.len(), 2, "either, by the seed");
    let storm = read(&[&format!("{STORM}, for: 300s, every: 1s}}")]);
    let schedule = draw(&storm, 7, TrialNumber(1));
    let kinds: BTreeSet<_> = schedule.strikes.iter().map(|it| it.step.fault.kind()).collect();
    assert_eq!(kinds, [Kind::Kill, Kind::Leave, Kind::Pause].into());
}

#[test]
fn a_rollout_takes_one_after_the_other_group_by_group() {
    let schedule = draw(&read(&["{id: r, fault: rollout}"]), 1, TrialNumber(1));
    let turns: Vec<_> = schedule.strikes.iter().map(|one| victim(one).to_string()).collect();
    assert_eq!(turns, ["p1-1", "p1-2", "p1-3", "p2-1", "p2-2", "p2-3"]);
    let before = |one: &Strike| one.once_settled.as_ref().map(ToString::to_string);
    let before: Vec<_> = schedule.strikes.iter().map(before).collect();
    let turns = ["r-1", "r-2", "r-3", "r-4", "r-5"].map(|it| Some(it.to_owned()));
    assert_eq!((&before[0], &before[1..]), (&None, &turns[..]));
}

#[test]
fn any_host_is_one_host_with_all_its_members() {
    let hosts = sets(&[&["p1-1", "p1-2", "p1-3"], &["p2-1", "p2-2"]]);
    assert_eq!(ever("{host: any}"), hosts);
}
