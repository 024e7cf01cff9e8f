//! What an experiment may cost on a plan: the limits that its assertions and its report compare
//! with.
//!
//! A step costs a group the plan's bound for its fault, plus that of the restart that follows.
//! Steps whose effects can overlap in one group cost the sum, because a second death can delay the
//! rebalance that the first began. All groups together lack a leader only if all can be hit at
//! once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::cost::{Cost, away, cost, held, taken};
use super::series::SLACK;
use super::{Experiment, Pick, Series, Step, Storm, Target, Trigger};
use crate::ids::GroupName;
use crate::time::Span;
use crate::topology::{Allowance, Plan, UNLIMITED};
use crate::verdict::{Brief, Limits};

/// The time from when a step is due until it is known to be in force.
pub(super) const IN_FORCE: Duration = Duration::from_millis(500);

/// What the verdict judges for this experiment on this plan.
#[must_use]
pub fn brief(experiment: &Experiment, plan: &Plan) -> Brief {
    let effects = effects(experiment, plan);
    let gap = |effect: &Effect, group: &GroupName| effect.gap(group);
    let overlap = |effect: &Effect, group: &GroupName| effect.overlap(group);
    let limits: BTreeMap<_, _> = plan
        .groups
        .keys()
        .map(|group| {
            let worst = |cost: &dyn Fn(&Effect, &GroupName) -> Duration,
                         until: &dyn Fn(&Effect) -> Duration| {
                let sums = meetings(&effects, until)
                    .map(|met| sum(met.iter().map(|effect| cost(effect, group))));
                known(sums.max().unwrap_or_default())
            };
            let limits = Limits {
                gap: worst(&gap, &|effect| effect.gap_until),
                overlap: worst(&overlap, &|effect| effect.overlap_until),
            };
            (group.clone(), limits)
        })
        .collect();
    let joint = Limits { gap: joint_gap(&effects, &limits), overlap: joint_overlap(&effects) };
    Brief {
        experiment: experiment.name.clone(),
        trials: experiment.trials,
        until: experiment.until,
        disturbed: experiment.disturbed.map(|rule| rule.of(experiment.trials)),
        assertions: experiment.assertions.clone(),
        objective: experiment.objective.unwrap_or(plan.objective),
        limits,
        joint,
    }
}

/// What one step does to the groups, and when, relative to the beginning of the trial.
struct Effect {
    from: Duration,
    gap_until: Duration,
    overlap_until: Duration,
    /// It hits every group of one of these sets.
    choices: BTreeSet<BTreeSet<GroupName>>,
    costs: BTreeMap<GroupName, Cost>,
    /// The storm that it belongs to, and the most groups that the storm hits at once.
    storm: Option<(usize, usize)>,
}

impl Effect {
    fn gap(&self, group: &GroupName) -> Duration {
        self.costs.get(group).map_or(Duration::ZERO, |cost| cost.gap)
    }

    fn overlap(&self, group: &GroupName) -> Duration {
        self.costs.get(group).map_or(Duration::ZERO, |cost| cost.overlap)
    }
}

/// A sum with an unbounded cost is unbounded.
fn sum(costs: impl Iterator<Item = Duration>) -> Duration {
    costs.fold(Duration::ZERO, Duration::saturating_add)
}

/// A cost that is known. What only the end of a fault ends stays unlimited after an addition.
fn known(cost: Duration) -> Option<Span> {
    (cost != Duration::MAX).then_some(Span(cost.min(UNLIMITED)))
}

fn effects(experiment: &Experiment, plan: &Plan) -> Vec<Effect> {
    let mut windows: BTreeMap<&str, (Duration, Duration)> = BTreeMap::new();
    let mut effects = Vec::new();
    for (number, step) in experiment.method.iter().enumerate() {
        let (from, to) = match &step.trigger {
            Trigger::At(at) => (at.get(), at.get()),
            Trigger::After(other, delay) => {
                let (from, to) = windows.get(other.as_str()).copied().unwrap_or_default();
                (from + delay.get(), to + IN_FORCE + delay.get())
            }
        };
        let to = to + step.jitter.get();
        windows.insert(step.id.as_str(), (from, to));
        let Some(target) = &step.concerns() else { continue };
        match step.fault.series() {
            Some(Series::Drawn(storm)) => {
                let limits = experiment.limits.or(plan.limits);
                effects.extend(rounds(number, step, storm, target, plan, limits, (from, to)));
                continue;
            }
            Some(Series::InTurn(_)) => {
                effects.push(turns(step, target, plan, from));
                continue;
            }
            None => {}
        }
        let costs: BTreeMap<_, _> = target
            .groups(plan)
            .into_iter()
            .map(|group| (group.clone(), cost(step, target, plan, &group)))
            .collect();
        let longest =
            |part: &dyn Fn(&Cost) -> Duration| costs.values().map(part).max().unwrap_or_default();
        let held = held(step);
        let gap_until = sum([to, held, longest(&|cost| cost.gap)].into_iter());
        let back = target.groups(plan).iter().map(|group| away(step, plan, group)).max();
        let back = back.unwrap_or_default().max(held);
        let overlap_until = sum([gap_until, back, longest(&|cost| cost.overlap)].into_iter());
        let choices = target.choices(plan);
        effects.push(Effect { from, gap_until, overlap_until, choices, costs, storm: None });
    }
    effects
}

/// One member of the group, or all of it if that many can be away at once.
fn victim(group: &GroupName, all: bool) -> Target {
    let mode = if all { Pick::All } else { Pick::One };
    Target::Group { group: Some(group.clone()), mode }
}

fn each(groups: &BTreeSet<GroupName>) -> BTreeSet<BTreeSet<GroupName>> {
    groups.iter().map(|group| [group.clone()].into()).collect()
}

/// Which group a strike of a series hits is not known in advance, so each strike costs the worst of
/// its possible faults.
fn rounds<'a>(
    number: usize,
    step: &Step,
    storm: &'a Storm,
    target: &Target,
    plan: &Plan,
    limits: Allowance,
    (from, to): (Duration, Duration),
) -> impl Iterator<Item = Effect> + use<'a> {
    let groups = target.groups(plan);
    let (mut costs, mut held) = (BTreeMap::<GroupName, Cost>::new(), Duration::ZERO);
    let every = storm.every.get();
    for (group, planned) in plan.groups.iter().filter(|(name, _)| groups.contains(*name)) {
        for fault in step.fault.strikes() {
            let strike = Step { fault, ..step.clone() };
            let size = u32::try_from(planned.members.len()).unwrap_or(u32::MAX);
            let gone = (taken(&strike, plan, group) + SLACK).as_nanos() / every.as_nanos().max(1);
            let gone = u32::try_from(gone).unwrap_or(u32::MAX).saturating_add(2);
            let most = limits.members.map_or(size, |share| share.at_most(size));
            let one = cost(&strike, &victim(group, gone.min(most) >= size), plan, group);
            let worst = costs.entry(group.clone()).or_default();
            worst.gap = worst.gap.max(one.gap);
            worst.overlap = worst.overlap.max(one.overlap);
            held = held.max(taken(&strike, plan, group));
        }
    }
    let gap = costs.values().map(|cost| cost.gap).max().unwrap_or_default();
    let overlap = costs.values().map(|cost| cost.overlap).max().unwrap_or_default();
    let most = limits.groups.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    // The pool of victims is drawn once.
    let pool = target.choices(plan).iter().map(BTreeSet::len).max().unwrap_or_default();
    let most = most.min(pool);
    (0..storm.rounds()).map(move |round| {
        let begins = every.saturating_mul(round);
        let gap_until = sum([to, begins, every, held, gap].into_iter());
        Effect {
            from: from.saturating_add(begins),
            gap_until,
            overlap_until: gap_until.saturating_add(overlap),
            choices: each(&groups),
            costs: costs.clone(),
            storm: Some((number, most)),
        }
    })
}

/// A rollout restarts every member, one at a time, so it costs what one restart costs.
fn turns(step: &Step, target: &Target, plan: &Plan, from: Duration) -> Effect {
    let groups = target.groups(plan);
    let mut costs = BTreeMap::<GroupName, Cost>::new();
    for fault in step.fault.strikes() {
        let turn = Step { fault, ..step.clone() };
        let one =
            |group: &GroupName| (group.clone(), cost(&turn, &victim(group, false), plan, group));
        costs.extend(groups.iter().map(one));
    }
    let (gap_until, overlap_until) = (Duration::MAX, Duration::MAX);
    Effect { from, gap_until, overlap_until, choices: each(&groups), costs, storm: None }
}

/// The sets of effects that can be active at the same instant; every maximal set begins with some
/// effect.
fn meetings<'a>(
    effects: &'a [Effect],
    until: &'a dyn Fn(&Effect) -> Duration,
) -> impl Iterator<Item = Vec<&'a Effect>> {
    effects.iter().map(move |first| {
        let on = |effect: &&Effect| effect.from <= first.from && first.from <= until(effect);
        effects.iter().filter(on).collect()
    })
}

/// The smallest group limit if all groups can lack a leader at once, else `None`.
fn joint_gap(effects: &[Effect], limits: &BTreeMap<GroupName, Limits>) -> Option<Span> {
    let until = |effect: &Effect| effect.gap_until;
    let all: BTreeSet<&GroupName> = limits.keys().collect();
    if meetings(effects, &until).any(|met| covers(&met, &all)) {
        limits.values().filter_map(|limits| limits.gap).min()
    } else {
        Some(Span::default())
    }
}

/// Overlaps of different groups can follow each other, so the joint overlap is at most their sum.
fn joint_overlap(effects: &[Effect]) -> Option<Span> {
    let until = |effect: &Effect| effect.overlap_until;
    let sums = meetings(effects, &until).map(|met| {
        let costs = met.iter().map(|effect| {
            let of = |hit: &BTreeSet<GroupName>| sum(hit.iter().map(|it| effect.overlap(it)));
            effect.choices.iter().map(of).max().unwrap_or_default()
        });
        sum(costs)
    });
    known(sums.max().unwrap_or_default())
}

/// Whether these effects can hit all groups. A target either names all groups that it hits, or
/// leaves the choice to the seed: then it can hit any remaining groups, but no more of them than
/// its largest choice has.
fn covers(effects: &[&Effect], groups: &BTreeSet<&GroupName>) -> bool {
    let (named, chance): (Vec<&Effect>, Vec<&Effect>) =
        effects.iter().partition(|effect| effect.choices.len() == 1);
    let hit = named.iter().flat_map(|effect| &effect.choices).flatten();
    let hit: BTreeSet<&GroupName> = hit.collect();
    let most = |effect: &Effect| effect.choices.iter().map(BTreeSet::len).max().unwrap_or(0);
    let (storms, others): (Vec<&Effect>, Vec<&Effect>) =
        chance.into_iter().partition(|effect| effect.storm.is_some());
    // A storm stays within its limits.
    let mut by_storm: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for effect in storms {
        let Some((storm, limit)) = effect.storm else { continue };
        let (hits, _) = *by_storm.entry(storm).or_default();
        by_storm.insert(storm, (hits + most(effect), limit));
    }
    let by_storm: usize = by_storm.values().map(|(hits, limit)| hits.min(limit)).sum();
    let others: usize = others.into_iter().map(most).sum();
    groups.difference(&hit).count() <= by_storm.saturating_add(others)
}
