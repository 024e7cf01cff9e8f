//! All elections that need nothing installed over the same roles: a leader is hit in every group.
//! Each group that elects among its members costs what was computed by hand for it.
//!
//! Each run is alone. One election is within 15 ms of its bound where a leader dies right after a
//! sign of life, and within 25 ms where it leaves; and a run has more than 20 processes.

use support::elections::{Cost, PLAN, are_right, cost, experiment, in_turn, on, topology};
use support::experiment::{Experiment, Finished};
use support::measured::{measured_alone, require};
use tandem::neli::elections::among::Among;

/// What a fault costs each election.
type Costs = fn(Among) -> Cost;

/// How the steps of an experiment hit the groups.
type Method = fn(&str, &str, &[&str]) -> String;

/// Does this to the leader of a role in a group of each election among members.
fn hit(name: &str, step: &str) -> Experiment {
    hit_by(experiment, name, step)
}

fn hit_by(method: Method, name: &str, step: &str) -> Experiment {
    let names: Vec<&str> = Among::ALL.iter().map(|by| by.as_str()).collect();
    let groups: Vec<_> = names.iter().map(|name| (*name, format!("election: {name}"))).collect();
    on(&topology("", &groups), &method(name, step, &names))
        .with("--set defaults.restart.after=1500ms")
}

fn cost_each(run: &Finished, costs: Costs) -> Result<(), String> {
    let of = |by: &Among| (by.as_str(), costs(*by).fenced(by.is_exclusive()));
    are_right(run, &Among::ALL.iter().map(of).collect::<Vec<_>>())
}

/// What comes back takes nothing, except of a bully: that leads beside the lesser one for a moment.
fn killed(by: Among) -> Cost {
    match by {
        Among::Generation => cost(890..1_226, 0..=0),
        Among::QuorumLease => cost(890..1_216, 0..=0),
        Among::Allcall => cost(890..1_041, 0..=0),
        Among::Bully => cost(1..PLAN, 0..=PLAN),
        Among::Ring | Among::Zab => cost(1..PLAN, 0..=0),
    }
}

#[test]
fn a_killed_leader_is_replaced_when_its_claim_is_over() {
    let run = || hit("each-kill", "fault: kill");
    drop(measured_alone(run, |run| cost_each(run, killed)));
}

/// The next in order stands at once.
fn left(by: Among) -> Cost {
    match by {
        Among::Generation => cost(0..141, 0..=0),
        Among::QuorumLease => cost(0..181, 0..=0),
        Among::Allcall => cost(0..26, 0..=0),
        Among::Bully => cost(0..PLAN, 0..=PLAN),
        Among::Ring | Among::Zab => cost(0..PLAN, 0..=0),
    }
}

/// One leaves after the other, for votes wait for the disk; and they come back when all have left,
/// for a process that starts takes a processor for longer than 25 ms.
#[test]
fn a_leader_that_leaves_is_replaced_at_once() {
    let run =
        || hit_by(in_turn, "each-leave", "fault: leave").with("--set defaults.restart.after=4s");
    drop(measured_alone(run, |run| cost_each(run, left)));
}

/// It wakes after its claim.
fn paused(by: Among) -> Cost {
    match by {
        Among::Generation => cost(890..1_226, 0..=0),
        Among::QuorumLease => cost(890..1_216, 0..=0),
        Among::Allcall => cost(890..1_041, 0..=0),
        Among::Bully => cost(1..PLAN, 0..=PLAN),
        Among::Ring | Among::Zab => cost(1..PLAN, 0..=110),
    }
}

#[test]
fn a_paused_leader_leads_no_more_when_it_wakes() {
    let run = || hit("each-pause", "fault: pause\n    for: 3s");
    drop(measured_alone(run, |run| cost_each(run, paused)));
}

/// By votes two never lead: the lease of the one that is cut off ends before another is elected. By
/// acknowledgements two lead for a heartbeat at most. By ids alone both lead until they reach each
/// other again, three seconds after the cut, and then one of them gives way.
fn cut_off(by: Among) -> Cost {
    match by {
        Among::Generation => cost(1..351, 0..=0),
        Among::QuorumLease => cost(1..341, 0..=0),
        Among::Zab => cost(0..PLAN, 0..=110),
        Among::Bully | Among::Ring | Among::Allcall => cost(0..PLAN, 1_500..=3_000),
    }
}

#[test]
fn a_leader_that_is_cut_off_leads_no_more_unless_it_leads_by_ids() {
    let run = || hit("each-cut-off", "fault: partition\n    for: 3s");
    drop(measured_alone(run, |run| {
        cost_each(run, cut_off)?;
        reached_again(run)
    }));
}

/// The report says when each victim reached the others again; in trials that the host disturbed,
/// this may be late.
fn reached_again(run: &Finished) -> Result<(), String> {
    let report = run.report();
    let disturbed: Vec<_> =
        report.disturbed.iter().flat_map(|of| &of.trials).map(|one| one.trial).collect();
    for fault in report.faults.iter().filter(|fault| !disturbed.contains(&fault.trial)) {
        let after = fault.rejoined_ms.zip(fault.healed_ms).map(|(at, healed)| at - healed);
        let soon = after.is_some_and(|after| after < 500.0);
        require(soon, || format!("{} again after {after:?} ms", fault.id))?;
    }
    let text = tandem::verdict::render(&report, "out", false);
    let says = |what: &str| text.contains(what);
    require(says("members reached each other again") && !says("no answer was seen"), || text)
}

#[test]
fn a_death_costs_each_election_a_gap_within_its_bound() {
    let run = || {
        // One of the groups may take 40 ms more than a session, and another one 50 ms in all.
        let text = include_str!("../../chaos/kill-each.yaml").replace("stall: 50ms", "stall: 25ms");
        Experiment::of("kill-each.yaml", &text).with("-f topologies/elections.yaml --trials 2")
    };
    let is_right = |run: &Finished| {
        require(run.code() == Some(0), || "it passes".to_owned())?;
        let timeline = run.timeline();
        let plan = &run.recording().header.plan;
        let among = || plan.groups.values().filter_map(|group| plan.electorate_of(group));
        let elects = |by: &&Among| among().any(|electorate| electorate.election == **by);
        let missing: Vec<_> = Among::ALL.iter().filter(|by| !elects(by)).collect();
        require(missing.is_empty(), || format!("no group elects by {missing:?}"))?;
        let seamless: Vec<_> = timeline
            .groups
            .iter()
            .filter(|(_, group)| group.findings.gaps.is_empty())
            .map(|(name, _)| name.as_str().to_owned())
            .collect();
        // Those that stand in for the dead take it over before it is missed, if they are quick.
        let all = seamless.iter().all(|name| name == "stand-in");
        require(all, || format!("no gap in {seamless:?}"))
    };
    drop(measured_alone(run, is_right));
}
