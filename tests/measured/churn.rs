//! Series of strikes: rollouts, churn and storms, as they are played.

use std::collections::{BTreeMap, BTreeSet};

use support::experiment::{Experiment, Finished, output, tandem};
use support::measured::{BRISK, measured, require};
use tandem::ids::FaultId;
use tandem::observation::{Ending, Fact, MemberEvent, RunEvent, What};
use tandem::time::Mono;

/// The requested faults and their victims, in order.
fn asked(run: &Finished) -> Vec<(FaultId, String, String, Mono)> {
    let facts = run.recording().facts;
    let asked = |fact: &Fact| match &fact.what {
        What::Run(RunEvent::FaultAsked { fault, kind, .. }) => {
            Some((fault.clone(), kind.clone(), fact.life.as_ref()?.member.to_string(), fact.t))
        }
        _ => None,
    };
    facts.iter().filter_map(asked).collect()
}

/// From being asked of the first to the heal.
fn windows(run: &Finished) -> BTreeMap<FaultId, (Mono, Mono)> {
    let facts = run.recording().facts;
    let healed = |id: &FaultId| {
        let of = |fact: &&Fact| match &fact.what {
            What::Run(RunEvent::FaultHealed { fault }) => fault == id,
            _ => false,
        };
        facts.iter().filter(of).map(|fact| fact.t).max().unwrap()
    };
    asked(run).into_iter().map(|(id, _, _, t)| (id.clone(), (t, healed(&id)))).collect()
}

/// Each member hands over before it goes, and is handed to when it is back.
#[test]
fn a_rollout_restarts_every_member_and_each_role_is_handed_over_without_a_gap() {
    let Some(run) = measured(
        || Experiment::new("chaos/rolling-restart.yaml").with(BRISK),
        |run| {
            require(run.code() == Some(0), || "it passes".to_owned())?;
            let timeline = run.timeline();
            let gaps: Vec<_> =
                timeline.groups.values().flat_map(|group| &group.findings.gaps).collect();
            require(gaps.is_empty(), || format!("no gap, not {gaps:?}"))
        },
    ) else {
        return;
    };
    let timeline = run.timeline();
    let overlaps: usize = timeline.groups.values().map(|group| group.findings.overlaps.len()).sum();
    let handed = |fact: &&Fact| {
        matches!(fact.what, What::Member(MemberEvent::Lapsed { why: Ending::HandedOver, .. }))
    };
    let handed = run.recording().facts.iter().filter(handed).count();
    assert!(handed >= 6.max(overlaps), "{handed} claims handed over, {overlaps} overlaps: {run}");
    let asked = asked(&run);
    let turns: Vec<&str> = asked.iter().map(|(_, _, member, _)| member.as_str()).collect();
    assert_eq!(turns, ["p1-1", "p1-2", "p1-3", "p2-1", "p2-2", "p2-3"], "{run}");
    assert!(asked.iter().all(|(_, kind, _, _)| kind == "leave"), "{asked:?}");
    assert_eq!(run.report().joint.gap.count, 0, "{run}");
    // Between one and the next everything had settled.
    let facts = run.recording().facts;
    for pair in asked.windows(2) {
        let settled: BTreeSet<_> = facts
            .iter()
            .filter(|fact| pair[0].3 < fact.t && fact.t < pair[1].3)
            .filter_map(|fact| match &fact.what {
                What::Run(RunEvent::Settled { group }) => Some(group.to_string()),
                _ => None,
            })
            .collect();
        let group = &pair[0].2[..2];
        assert!(settled.contains(group), "{group} between {:?}\n{run}", (&pair[0].0, &pair[1].0));
    }
}

#[test]
fn members_of_one_group_churn_and_the_others_lead_on() {
    let Some(run) = measured(
        || Experiment::new("chaos/churn-group.yaml").with(BRISK),
        |run| require(run.code() == Some(0), || "it passes".to_owned()),
    ) else {
        return;
    };
    let asked = asked(&run);
    assert!(asked.len() >= 3, "{asked:?}");
    let groups: BTreeSet<&str> = asked.iter().map(|(_, _, member, _)| &member[..2]).collect();
    assert_eq!(groups.len(), 1, "{groups:?}");
    assert_eq!(run.report().joint.gap.count, 0, "{run}");
}

#[test]
fn a_storm_injects_the_drawn_strikes_within_its_limits() {
    let Some(run) = measured(
        || Experiment::shortened("storm", "for: 32s", "for: 20s").with("--seed 11").with(BRISK),
        |run| require(run.code() == Some(0), || "it passes".to_owned()),
    ) else {
        return;
    };
    let (asked, windows) = (asked(&run), windows(&run));
    let kinds: BTreeSet<&str> = asked.iter().map(|(_, kind, _, _)| kind.as_str()).collect();
    assert!(asked.len() >= 3 && kinds.len() >= 2, "{asked:?}");
    for (id, kind, member, t) in &asked {
        let others = asked
            .iter()
            .filter(|(other, ..)| other != id && windows[other].0 <= *t && *t < windows[other].1);
        let others: Vec<_> = others.collect();
        assert!(others.is_empty(), "{kind} of {member} beside {others:?}\n{run}");
    }
    // What the page previewed is what was done.
    let preview = output(
        tandem(run.folder.path())
            .args(["chaos", "run", "--seed", "11", "--dry-run", "-o", "json"])
            .args(BRISK.split(' '))
            .arg(run.folder.path().join("storm.yaml")),
    );
    let preview: serde_json::Value = serde_json::from_slice(&preview.stdout).unwrap();
    let strikes = preview["schedule"][0]["strikes"].as_array().unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let previewed: Vec<_> =
        strikes.iter().map(|it| (text(&it["step"]), text(&it["fault"]), text(&it["to"]))).collect();
    let done: Vec<_> = asked
        .iter()
        .map(|(id, kind, member, _)| (id.step.to_string(), kind.clone(), member.clone()))
        .collect();
    assert_eq!(previewed, done, "{run}");
}
