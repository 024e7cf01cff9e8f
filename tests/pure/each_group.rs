//! Where the leaders of one role are hit in every group at once, each group is judged by its own
//! bounds: a mistake that is planted in one is found in that one, and in no other.

use support::elections::{self, Cost, cost};
use support::facts::{Story, at, fault, name};
use tandem::chaos::{brief, experiment};
use tandem::ids::GroupName;
use tandem::neli::elections::among::Among;
use tandem::observation::RunEvent;
use tandem::timeline::{Findings, Timeline};
use tandem::topology::{Plan, plan};
use tandem::verdict::{Brief, Report, Verdict};

const ELECTIONS: &str = include_str!("../../topologies/elections.yaml");
const SHIPPED: [&str; 3] = [
    include_str!("../../chaos/kill-each.yaml"),
    include_str!("../../chaos/leave-each.yaml"),
    include_str!("../../chaos/pause-each.yaml"),
];
/// One group after the other.
const LEAVE: &str = "fault: leave";
/// The victim leads until this, in milliseconds.
const HIT: u64 = 2_000;
/// The longest bound, and when the trial ends.
const LONGEST: u64 = 16_000;
const END: u64 = 19_000;

/// With one role, so that a story is short.
fn one_role(topology: &str) -> Plan {
    let roles = "roles: [eurusd, usdjpy, xauusd, brent]";
    assert!(topology.contains(roles), "{topology}");
    plan(&topology.replace(roles, "roles: [eurusd]"), &[]).unwrap()
}

/// What tests play with real processes.
fn among(step: &str) -> (Plan, String) {
    let names: Vec<&str> = Among::ALL.iter().map(|by| by.as_str()).collect();
    let groups: Vec<_> = names.iter().map(|name| (*name, format!("election: {name}"))).collect();
    let topology = elections::topology("", &groups);
    let method = if step == LEAVE { elections::in_turn } else { elections::experiment };
    (one_role(&topology), method("each", step, &names))
}

/// How long a group has no leader, and how long it has two.
#[derive(Debug, Clone, Copy)]
struct Planted {
    gap: u64,
    overlap: u64,
}

/// In each group the first member leads; in this one it dies, and the second leads after a gap, or
/// the third dies while the second leads beside the first.
fn story(plan: &Plan, in_group: &GroupName, planted: Planted) -> Story {
    let mut story = Story::default();
    for group in plan.groups.keys() {
        let [first, second, third] = [1, 2, 3].map(|number| format!("{group}-{number}.1"));
        story.started(&first, 10).started(&second, 10).started(&third, 10);
        story.settled(group.as_str(), 400);
        let victim = if planted.gap > 0 { &first } else { &third };
        if group != in_group {
            story.serves(&first, 0, 1, [100, END + 400]);
            continue;
        }
        if planted.gap > 0 {
            story.serves(&first, 0, 1, [100, HIT - 10]);
            story.serves(&second, 0, 1, [HIT + planted.gap, END + 400]);
        } else {
            story.serves(&first, 0, 1, [100, END + 400]);
            let until = HIT + planted.overlap;
            story.serves(&second, 0, 1, [HIT, until]).lapsed(&second, until, (0, 1), until);
        }
        story.asked(victim, HIT, "1.e", "kill").died(victim, HIT);
        story.of(victim, HIT, RunEvent::FaultInForce { fault: fault("1.e") });
        let again = victim.replace(".1", ".2");
        story.started(&again, HIT + 2_000);
        story.of(&again, HIT + 2_000, RunEvent::FaultHealed { fault: fault("1.e") });
        story.settled(group.as_str(), END - 1_000);
    }
    story.began(500, 1).ended(END, 1).completed(END + 500);
    story
}

/// The groups whose claims do not hold.
fn failed(plan: &Plan, brief: &Brief, story: &Story) -> Vec<String> {
    let report = Report::compute(plan, brief, 1, at(10), &story.facts);
    let failed = report.assertions.iter().filter(|ruling| ruling.outcome == Verdict::Fail);
    let mut groups: Vec<_> =
        failed.filter_map(|ruling| ruling.group.as_ref()).map(ToString::to_string).collect();
    groups.dedup();
    assert_eq!(groups.is_empty(), report.verdict != Verdict::Fail, "{:?}", report.reasons);
    groups
}

/// A mistake in each group in turn, just above its bound, and one that is just below it.
fn is_found_in_each(plan: &Plan, text: &str, hit: &[GroupName]) {
    let (experiment, _) = experiment(text).unwrap();
    let brief = Brief { trials: 1, ..brief(&experiment, plan) };
    for group in hit {
        let limits = &brief.limits[group];
        let ms = |limit: Option<tandem::time::Span>| {
            let limit = limit.unwrap_or_else(|| panic!("no bound for {group}"));
            u64::try_from(limit.get().as_millis()).unwrap()
        };
        let (gap, overlap) = (ms(limits.gap), ms(limits.overlap));
        for (more, found) in [(100, vec![group.to_string()]), (0, Vec::new())] {
            for planted in [
                Planted { gap: gap + more, overlap: 0 },
                Planted { gap: 0, overlap: overlap + more },
            ] {
                // A cut that is not exclusive overlaps for as long as it lasts.
                if (1..=LONGEST).contains(&(planted.gap + planted.overlap)) {
                    let story = story(plan, group, planted);
                    assert_eq!(failed(plan, &brief, &story), found, "{planted:?} in {group}");
                }
            }
        }
    }
}

#[test]
fn the_shipped_experiments_judge_every_election_by_its_own_bounds() {
    let plan = one_role(ELECTIONS);
    let all: Vec<_> = plan.groups.keys().cloned().collect();
    for text in SHIPPED {
        is_found_in_each(&plan, text, &all);
    }
}

#[test]
fn measured_runs_judge_every_election_among_members_by_its_own_bounds() {
    let held = ["fault: pause\n    for: 3s", "fault: partition\n    for: 3s"];
    for step in ["fault: kill", LEAVE, held[0], held[1]] {
        let (plan, text) = among(step);
        let hit: Vec<_> = Among::ALL.iter().map(|by| name::<GroupName>(by.as_str())).collect();
        is_found_in_each(&plan, &text, &hit);
    }
}

/// What is found of a group with this planted.
fn found(planted: Planted) -> Findings {
    let (plan, _) = among("fault: kill");
    let group: GroupName = name("zab");
    let story = story(&plan, &group, planted);
    Timeline::compute(&plan, &story.facts).groups[&group].findings.clone()
}

#[test]
fn a_cost_by_hand_allows_no_other() {
    let (gap, overlap) =
        (found(Planted { gap: 1_000, overlap: 0 }), found(Planted { gap: 0, overlap: 1_000 }));
    let allows = |cost: Cost, found: &Findings, trials: usize| cost.allows(found, trials).is_ok();
    assert!(allows(cost(890..1_226, 0..=0), &gap, 1));
    assert!(!allows(cost(1_001..1_226, 0..=0), &gap, 1), "it is too short");
    assert!(!allows(cost(890..1_000, 0..=0), &gap, 1), "it is too long");
    assert!(!allows(cost(890..1_226, 0..=0), &gap, 2), "one trial has none");
    assert!(!allows(cost(890..1_226, 0..=0), &overlap, 1), "it has none, and an overlap");
    assert!(allows(cost(0..10, 0..=1_000), &overlap, 1));
    assert!(!allows(cost(0..10, 0..=999), &overlap, 1), "it is too long");
    assert!(allows(cost(0..10, 500..=1_000), &overlap, 1));
    assert!(!allows(cost(0..10, 500..=1_000), &overlap, 2), "one trial has none");
    assert!(!allows(cost(0..2_000, 500..=1_000), &gap, 1), "it has none");
}
