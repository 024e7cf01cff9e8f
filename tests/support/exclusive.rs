//! What is done to a leader of a group in exclusive mode, and what must hold of it.

use std::collections::BTreeMap;

use tandem::ids::Life;
use tandem::observation::{Fact, MemberEvent, What};

use super::experiment::Experiment;
use super::results::tried;
use super::series::{Series, shown};

/// A kind of trial.
pub struct Kind {
    pub name: &'static str,
    /// The step, without its target.
    pub step: &'static str,
    /// Whether a role has no leader for a while in each trial.
    pub bites: bool,
    /// Whether the plan knows a bound for the gap.
    pub bounded: bool,
}

const fn kind(name: &'static str, step: &'static str) -> Kind {
    Kind { name, step, bites: true, bounded: true }
}

/// One that may cost nothing.
const fn mild(name: &'static str, step: &'static str) -> Kind {
    Kind { bites: false, ..kind(name, step) }
}

const fn unbounded(name: &'static str, step: &'static str) -> Kind {
    Kind { bites: false, bounded: false, ..kind(name, step) }
}

/// With a session of a second: the threshold is 800 ms.
pub const KINDS: [Kind; 16] = [
    kind("kill", "fault: kill"),
    kind("leave", "fault: leave"),
    mild("pause-below", "fault: pause, for: 500ms"),
    mild("pause-threshold", "fault: pause, for: 850ms"),
    mild("pause-session", "fault: pause, for: 1s"),
    kind("pause-beyond", "fault: pause, for: 3s"),
    kind("isolation", "fault: partition, for: 3s, behavior: drop"),
    kind("isolation-stalled", "fault: partition, for: 3s, behavior: stall"),
    kind("isolation-reset", "fault: partition, for: 3s, behavior: reset"),
    unbounded("requests-lost", "fault: partition, for: 3s, direction: to_broker"),
    unbounded("answers-lost", "fault: partition, for: 3s, direction: to_member"),
    unbounded("coordinator", "fault: protocol, apis: [coordinator], behavior: drop, for: 3s"),
    unbounded("heartbeats", "fault: protocol, apis: [heartbeat], behavior: drop, for: 3s"),
    unbounded("joins", "fault: protocol, apis: [join_group], behavior: stall, for: 3s"),
    mild("clock", "fault: clock, for: 3s, ahead: 2s, step_every: 500ms"),
    mild("duplicate", "fault: duplicate, for: 2s"),
];

impl Kind {
    /// An experiment that does this to the leader of a role.
    pub fn experiment(&self, trials: u32) -> String {
        let Self { name, step, bounded, .. } = self;
        let gap = if *bounded { "  - group.gap.max <= bound.group.gap\n" } else { "" };
        format!(
            "version: 1\nname: exclusive-{name}\ntrials: {trials}\ndisturbed: {{stall: 50ms}}\n\
             method:\n  - {{id: f, at: 300ms, jitter: 300ms, {step}, target: {{leader_of: any}}}}\n\
             objective: {{group_gap: 30s, joint_gap: 30s}}\nassert:\n{gap}  \
             - group.overlap.max == 0ms\n"
        )
    }
}

/// Each claim has a fence, and a higher one than all claims of others before it on its partition.
///
/// # Errors
/// The first claim of which that is not so.
pub fn fences_rise(facts: &[Fact]) -> Result<(), String> {
    let claim = |fact: &Fact| match fact.what {
        What::Member(MemberEvent::Claimed { partition, from, fence, .. }) => {
            let life = fact.life.clone()?;
            let group = life.member.as_str().split('-').next()?.to_owned();
            Some((from, (group, partition), life, fence))
        }
        _ => None,
    };
    let mut claims: Vec<_> = facts.iter().filter_map(claim).collect();
    claims.sort_by_key(|(from, ..)| *from);
    let mut last = BTreeMap::new();
    for (from, place, life, fence) in claims {
        let fence = fence.ok_or_else(|| format!("no fence of {life} at {from:?}"))?;
        let before = last.insert(place, (fence, life.clone()));
        let rises =
            |(before, of): &(i64, Life)| *before < fence || (*before == fence && *of == life);
        if !before.as_ref().is_none_or(rises) {
            return Err(format!("fence {fence} of {life} at {from:?} after {before:?}"));
        }
    }
    if last.is_empty() { Err("no claim".to_owned()) } else { Ok(()) }
}

/// A series of `trials` of each kind, each placed on a topology.
pub fn series(name: &'static str, trials: u32, place: impl Fn(Experiment) -> Experiment) -> Series {
    let trials = tried().unwrap_or(trials);
    let experiments = KINDS.iter().map(|kind| {
        let text = kind.experiment(trials);
        (kind.name, place(Experiment::of("exclusive.yaml", &text)))
    });
    Series::of_each(name, experiments)
}

/// Two never lead, and each kind that must bite bites.
pub fn never_two(mut series: Series) {
    let overlaps = series.overlaps();
    series.claims.add("two never lead", shown(&overlaps), overlaps.is_empty());
    let bitten = KINDS.iter().zip(&series.parts).filter(|(kind, _)| kind.bites);
    let blunt: Vec<_> = bitten
        .filter(|(_, part)| part.timeline.groups.values().all(|it| it.findings.gaps.is_empty()))
        .map(|(kind, _)| kind.name)
        .collect();
    let text = if blunt.is_empty() { "all".to_owned() } else { format!("not {blunt:?}") };
    series.claims.add("what must cost a gap does", text, blunt.is_empty());
    let text = format!("{} kinds; group gaps {}", KINDS.len(), shown(&series.group_gaps()));
    series.conclude(&text);
}
