//! `stop_when`: what ends a run early, and what does not.

use support::experiment::{Experiment, LONELY};
use support::facts::{Story, at, plan};
use tandem::chaos::Lookout;
use tandem::live::Live;
use tandem::observation::{Outcome, RunEvent};
use tandem::verdict::Condition;

/// What a lookout says of a story, looking each 20 ms: when, and in words.
fn sees(condition: &str, record: impl Fn(&mut Story)) -> Option<(u64, String)> {
    let plan = plan(2, &[("p1", 2, 3), ("p2", 2, 3)]);
    let mut story = Story::default();
    record(&mut story);
    let condition: Condition = condition.parse().unwrap();
    let (mut live, mut lookout) = (Live::new(&plan), Lookout::new(&condition, &plan));
    let mut facts = story.facts.iter().peekable();
    (1_000..6_000).step_by(20).find_map(|now| {
        while let Some(fact) = facts.next_if(|fact| fact.t <= at(now)) {
            live.observe(fact);
        }
        lookout.look(at(now), &live).map(|why| (now, why))
    })
}

/// Both groups lead both roles; p1-1 dies at 2000, p1-2 takes over at 3000.
fn one_dies(story: &mut Story) {
    for member in ["p1-1.1", "p1-2.1", "p2-1.1"] {
        story.started(member, 10);
    }
    story.claimed("p1-1.1", 0, 1, [900, 9_000]).claimed("p1-2.1", 1, 1, [900, 9_000]);
    story.claimed("p2-1.1", 0, 1, [900, 9_000]).claimed("p2-1.1", 1, 1, [900, 9_000]);
    story.died("p1-1.1", 2_000);
    story.claimed("p1-2.1", 0, 1, [3_000, 9_000]);
}

#[test]
fn a_gap_ends_the_run_once_it_is_too_long() {
    let (when, why) = sees("group.gap > 500ms", one_dies).unwrap();
    assert_eq!(when, 2_520, "seen first at 2000");
    assert_eq!(why, "stop_when group.gap > 500ms: no member has led role-0 in p1 for 520.0ms");
    assert_eq!(sees("group.p1.gap >= 500ms", one_dies).unwrap().0, 2_500);
}

#[test]
fn shorter_or_other_stalls_do_not() {
    assert_eq!(sees("group.gap > 1s", one_dies), None);
    assert_eq!(sees("group.p2.gap > 0s", one_dies), None);
    assert_eq!(sees("joint.gap > 0s", one_dies), None, "the other group leads on");
    assert_eq!(sees("group.overlap > 0s", one_dies), None);
}

#[test]
fn a_stopped_member_does_not_serve_but_still_claims() {
    let stopped = |story: &mut Story| {
        one_dies(story);
        story.of("p2-1.1", 4_000, RunEvent::Stopped);
    };
    assert_eq!(sees("group.p2.gap > 300ms", stopped).unwrap().0, 4_320);
    let twice = |story: &mut Story| {
        stopped(story);
        story.started("p2-2.1", 4_100).claimed("p2-2.1", 0, 1, [4_500, 9_000]);
    };
    let (when, why) = sees("joint.overlap > 100ms", twice).unwrap();
    assert_eq!((when, why.contains("more than one has led role-0 for")), (4_620, true), "{why}");
}

/// No host leaves its only member out for as long as that gap lasts.
#[test]
fn a_run_that_is_stopped_by_its_condition_heals_and_says_so() {
    let text = "version: 1\nname: stopped\nstop_when: group.gap > 3s\nmethod:\n  \
                - {id: p, at: 100ms, fault: pause, for: 5m, target: {leader_of: any}}\n";
    let order = Experiment::of("stopped.yaml", text);
    let topology = order.write("lonely.yaml", LONELY);
    let run = order.with(&format!("-f {}", topology.display())).finish();
    assert_eq!(run.code(), Some(5), "{run}");
    let report = run.report();
    assert_eq!(report.outcome, Some(Outcome::Aborted), "{run}");
    assert!(run.stdout.contains("stop_when group.gap > 3s: no member has led"), "{run}");
    let fault = &report.faults[0];
    assert!(fault.in_force_ms.is_some() && fault.healed_ms.is_some(), "{run}");
}
