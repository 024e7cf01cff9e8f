//! The leaders of one role are hit at once in groups of several elections, beside a group by NELI
//! that is not hit: what that costs each of them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use tandem::ids::GroupName;
use tandem::observation::Fact;
use tandem::timeline::{Finding, Findings};
use tandem::topology::Plan;

use super::exclusive::fences_rise;
use super::experiment::{Experiment, Finished};
use super::measured::require;

/// How many trials there are.
pub const TRIALS: usize = 3;
/// No length of its own: the assertions of the experiment compare with the plan's bound.
pub const PLAN: u64 = u64::MAX;

/// What the trials of a fault may cost a group, in milliseconds.
#[derive(Debug, Clone)]
pub struct Cost {
    /// The lengths of its gaps. Where they cannot be 0, there is one in each trial.
    pub gaps: Range<u64>,
    /// The longest overlap. Where the least is not 0, each trial has one that is as long.
    pub overlaps: RangeInclusive<u64>,
    /// Whether each claim has a higher fence than those before it.
    pub fenced: bool,
}

/// A cost of a group without fences.
#[must_use]
pub const fn cost(gaps: Range<u64>, overlaps: RangeInclusive<u64>) -> Cost {
    Cost { gaps, overlaps, fenced: false }
}

impl Cost {
    /// The same of a group with fences.
    #[must_use]
    pub fn fenced(self, fenced: bool) -> Self {
        Self { fenced, ..self }
    }

    /// The gaps and overlaps of so many trials are as they may be.
    ///
    /// # Errors
    /// What is not so.
    pub fn allows(&self, found: &Findings, trials: usize) -> Result<(), String> {
        let lengths = |all: &[Finding]| all.iter().map(|one| one.span.length()).collect::<Vec<_>>();
        let (gaps, overlaps) = (lengths(&found.gaps), lengths(&found.overlaps));
        println!("gaps {gaps:?}, overlaps {overlaps:?}");
        let ms = |length: &Duration| u64::try_from(length.as_millis()).unwrap();
        let wanted = gaps.iter().all(|gap| self.gaps.contains(&ms(gap)));
        require(wanted, || format!("gaps of {gaps:?}, not {:?} ms", self.gaps))?;
        let most = Duration::from_millis(*self.overlaps.end());
        require(overlaps.iter().all(|it| *it <= most), || {
            format!("overlaps of {overlaps:?}, not up to {most:?}")
        })?;
        let missing = |all: &[Finding], least: u64| {
            let long = all.iter().filter(|one| ms(&one.span.length()) >= least);
            let there = long.map(|one| one.trial).collect::<BTreeSet<_>>().len();
            least > 0 && there < trials
        };
        require(!missing(&found.gaps, self.gaps.start), || {
            format!("a gap in each of {trials} trials, not {gaps:?}")
        })?;
        require(!missing(&found.overlaps, *self.overlaps.start()), || {
            format!("an overlap in each of {trials} trials, not {overlaps:?}")
        })
    }
}

/// A topology of these groups and their settings, and of one by NELI on an embedded broker. The
/// groups share nothing.
#[must_use]
pub fn topology(clusters: &str, groups: &[(&str, String)]) -> String {
    let mut text = format!(
        "version: 1\nname: each\nroles: [eurusd, usdjpy, xauusd, brent]\n\
         clusters: {{a: embedded{clusters}}}\nobjective: {{joint_gap: 0s}}\n\
         groups:\n  neli: {{cluster: a, members: 3}}\n"
    );
    for (group, settings) in groups {
        writeln!(text, "  {group}: {{{settings}, members: 3}}").unwrap();
    }
    text
}

/// The leaders of one role in these groups are hit at once, in each trial, all within the bounds.
#[must_use]
pub fn experiment(name: &str, step: &str, groups: &[&str]) -> String {
    let all = format!(
        "  - id: f\n    at: 500ms\n    jitter: 300ms\n    {step}\n    \
         target: {{leader_of: any, across: {{groups: [{}], within: 500ms}}}}\n",
        groups.join(", ")
    );
    of_steps(name, &all)
}

/// The same with one group after the other, where all at once would wait for one disk.
#[must_use]
pub fn in_turn(name: &str, step: &str, groups: &[&str]) -> String {
    let mut steps = String::new();
    for (number, group) in groups.iter().enumerate() {
        let when = match number.checked_sub(1) {
            None => "at: 500ms".to_owned(),
            Some(before) => format!("after: f{before}\n    delay: 300ms"),
        };
        writeln!(
            steps,
            "  - id: f{number}\n    {when}\n    jitter: 300ms\n    {step}\n    \
             target: {{leader_of: any, group: {group}}}"
        )
        .unwrap();
    }
    of_steps(name, &steps)
}

fn of_steps(name: &str, steps: &str) -> String {
    format!(
        "version: 1\nname: {name}\ntrials: {TRIALS}\ndisturbed: {{stall: 25ms}}\nmethod:\n{steps}\
         objective: {{joint_gap: 0s}}\nassert:\n  \
         - group.gap.max <= bound.group.gap\n  - group.overlap.max <= bound.group.overlap\n"
    )
}

/// The experiment on the topology.
#[must_use]
pub fn on(topology: &str, experiment: &str) -> Experiment {
    let run = Experiment::of("each.yaml", experiment);
    let file = run.write("topology.yaml", topology);
    run.with(&format!("-f {}", file.display()))
}

/// The run passes, no role is without any leader, and each group has the costs that it may have.
///
/// # Errors
/// What is not so, and of which group.
pub fn are_right(run: &Finished, costs: &[(&str, Cost)]) -> Result<(), String> {
    require(run.code() == Some(0), || "it passes".to_owned())?;
    let (recording, timeline) = (run.recording(), run.timeline());
    require(timeline.joint.gaps.is_empty(), || "no joint gap".to_owned())?;
    let plan = &recording.header.plan;
    require(plan.groups.len() == costs.len() + 1, || "all groups but NELI's".to_owned())?;
    costs.iter().try_for_each(|(name, cost)| {
        let group: GroupName = name.parse().map_err(|why| format!("{name}: {why}"))?;
        println!("{name}:");
        let of = timeline.groups.get(&group).ok_or_else(|| format!("no group {name}"))?;
        cost.allows(&of.findings, TRIALS).map_err(|why| format!("{name}: {why}"))?;
        let fenced = cost.fenced.then(|| fences_rise(&of_group(plan, &group, &recording.facts)));
        fenced.unwrap_or(Ok(())).map_err(|why| format!("{name}: {why}"))
    })
}

/// The facts of the lives of a group.
fn of_group(plan: &Plan, group: &GroupName, facts: &[Fact]) -> Vec<Fact> {
    let of = |fact: &&Fact| {
        let member = fact.life.as_ref().map(|life| &life.member);
        member.is_some_and(|member| plan.group_of(member) == Some(group))
    };
    facts.iter().filter(of).cloned().collect()
}
