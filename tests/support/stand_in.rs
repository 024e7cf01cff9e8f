//! Groups whose members stand in for each other: experiments, and what came of them.

use std::collections::BTreeSet;
use std::time::Duration;

use tandem::ids::{Life, PartitionId};
use tandem::observation::{Fact, MemberEvent, RunEvent, What};
use tandem::time::Mono;

use super::series::{Series, shown};

/// An experiment that does this to a leader.
pub fn experiment(name: &str, step: &str, trials: u32) -> String {
    hitting(name, &format!("{step}, target: {{leader_of: any}}"), trials)
}

/// An experiment with this step.
pub fn hitting(name: &str, step: &str, trials: u32) -> String {
    format!(
        "version: 1\nname: {name}\ntrials: {trials}\ndisturbed: {{stall: 50ms}}\n\
         method:\n  - {{id: f, at: 300ms, jitter: 300ms, {step}}}\n\
         objective: {{group_gap: 30s, joint_gap: 30s}}\nassert:\n  \
         - group.gap.max <= bound.group.gap\n  - group.overlap.max <= bound.group.overlap\n"
    )
}

/// One claim of a stand-in: when it began, by whom, on what, for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIn {
    pub from: Mono,
    pub by: Life,
    pub partition: PartitionId,
    pub of: Life,
}

/// All claims of stand-ins, in the order of the facts.
pub fn stand_ins(facts: &[Fact]) -> Vec<StandIn> {
    let claim = |fact: &Fact| match (&fact.what, &fact.life) {
        (
            What::Member(MemberEvent::Claimed { partition, from, stands_in_for: Some(of), .. }),
            Some(by),
        ) => {
            let (by, of) = (by.clone(), of.clone());
            Some(StandIn { from: *from, by, partition: *partition, of })
        }
        _ => None,
    };
    facts.iter().filter_map(claim).collect()
}

/// Victims of kills, and how many of them had no stand-in, and how many two for one partition
/// before the group gave it away: within 10 ms of each other.
pub fn victims(facts: &[Fact]) -> (usize, usize, usize) {
    let all = stand_ins(facts);
    let killed: BTreeSet<&Life> = facts
        .iter()
        .filter(|fact| {
            matches!(&fact.what, What::Run(RunEvent::FaultAsked { kind, .. }) if kind == "kill")
        })
        .filter_map(|fact| fact.life.as_ref())
        .collect();
    let without = killed.iter().filter(|life| !all.iter().any(|it| it.of == ***life)).count();
    let twice = killed.iter().filter(|life| {
        let of: Vec<&StandIn> = all.iter().filter(|it| it.of == ***life).collect();
        of.iter().any(|one| {
            of.iter().any(|two| {
                let soon = two.from.since(one.from) < Duration::from_millis(10);
                one.partition == two.partition && one.by != two.by && one.from <= two.from && soon
            })
        })
    });
    (killed.len(), without, twice.count())
}

/// What is claimed of a series of kills: the gaps, in microseconds, and one stand-in each.
pub fn kills(mut series: Series, p50_us: u128, p95_us: u128) {
    let gaps = series.group_gaps();
    let at = |percent: usize| {
        let place = (gaps.len() * percent).div_ceil(100).max(1) - 1;
        gaps.get(place).map_or(0, |gap| gap.length.as_micros())
    };
    let (p50, p95) = (at(50), at(95));
    series.claims.add("gaps, to measure their lengths".to_owned(), gaps.len(), !gaps.is_empty());
    series.claims.add(format!("p50 at most {p50_us} us"), p50, p50 <= p50_us);
    series.claims.add(format!("p95 at most {p95_us} us"), p95, p95 <= p95_us);
    let mut counts = (0, 0, 0);
    for part in &series.parts {
        let (killed, without, twice) = victims(&part.facts);
        counts = (counts.0 + killed, counts.1 + without, counts.2 + twice);
    }
    let (killed, without, twice) = counts;
    series.claims.add(
        "each of the dead has a stand-in",
        format!("{without} have none"),
        without == 0,
    );
    let overlaps = shown(&series.overlaps());
    let text = format!(
        "{killed} kills: group gaps p50 {p50}, p95 {p95} us ({}); {twice} stood in for twice; \
         overlaps {overlaps}",
        shown(&gaps)
    );
    series.conclude(&text);
}
