//! What an experiment may cost on a plan: the limits that its assertions and its report compare
//! with.
//!
//! A step costs a group what the plan's bounds say of its fault, and of the restart that follows.
//! Steps whose effects can meet in one group cost the sum, for a second death can hold up the
//! rebalance that the first began. All groups together lack a leader only where all can be hit at
//! once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::cost::{Cost, away, cost};
use super::{Experiment, Trigger};
use crate::ids::GroupName;
use crate::time::Span;
use crate::topology::Plan;
use crate::verdict::{Brief, Limits};

/// From a step's being due to its being known to be in force.
const IN_FORCE: Duration = Duration::from_millis(500);

impl Brief {
    /// What is to be judged of this experiment on this plan.
    #[must_use]
    pub fn of(experiment: &Experiment, plan: &Plan) -> Self {
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
        Self {
            experiment: experiment.name.clone(),
            trials: experiment.trials,
            until: experiment.until,
            assertions: experiment.assertions.clone(),
            objective: experiment.objective.unwrap_or(plan.objective),
            limits,
            joint,
        }
    }
}

/// What one step does to the groups, and when, counted from the trial's beginning.
struct Effect {
    from: Duration,
    gap_until: Duration,
    overlap_until: Duration,
    /// It hits one of these, whole.
    choices: BTreeSet<BTreeSet<GroupName>>,
    costs: BTreeMap<GroupName, Cost>,
}

impl Effect {
    fn gap(&self, group: &GroupName) -> Duration {
        self.costs.get(group).map_or(Duration::ZERO, |cost| cost.gap)
    }

    fn overlap(&self, group: &GroupName) -> Duration {
        self.costs.get(group).map_or(Duration::ZERO, |cost| cost.overlap)
    }
}

/// What is not bounded has no limit, whatever is added to it.
fn sum(costs: impl Iterator<Item = Duration>) -> Duration {
    costs.fold(Duration::ZERO, Duration::saturating_add)
}

fn known(cost: Duration) -> Option<Span> {
    (cost != Duration::MAX).then_some(Span(cost))
}

fn effects(experiment: &Experiment, plan: &Plan) -> Vec<Effect> {
    let mut windows: BTreeMap<&str, (Duration, Duration)> = BTreeMap::new();
    let mut effects = Vec::new();
    for step in &experiment.method {
        let (from, to) = match &step.trigger {
            Trigger::At(at) => (at.get(), at.get()),
            Trigger::After(other, delay) => {
                let (from, to) = windows.get(other.as_str()).copied().unwrap_or_default();
                (from + delay.get(), to + IN_FORCE + delay.get())
            }
        };
        let to = to + step.jitter.get();
        windows.insert(step.id.as_str(), (from, to));
        let Some(target) = &step.target else { continue };
        let costs: BTreeMap<_, _> = target
            .groups(plan)
            .into_iter()
            .map(|group| (group.clone(), cost(step, target, plan, &group)))
            .collect();
        let longest =
            |part: &dyn Fn(&Cost) -> Duration| costs.values().map(part).max().unwrap_or_default();
        let held = step.fault.network().map_or(Duration::ZERO, |it| it.lasts.get());
        let gap_until = sum([to, held, longest(&|cost| cost.gap)].into_iter());
        let back = target.groups(plan).iter().map(|group| away(step, plan, group)).max();
        let back = back.unwrap_or_default();
        let overlap_until = sum([gap_until, back, longest(&|cost| cost.overlap)].into_iter());
        let choices = target.choices(plan);
        effects.push(Effect { from, gap_until, overlap_until, choices, costs });
    }
    effects
}

/// The sets of effects that can be on at one instant; every largest one begins with some effect.
fn meetings<'a>(
    effects: &'a [Effect],
    until: &'a dyn Fn(&Effect) -> Duration,
) -> impl Iterator<Item = Vec<&'a Effect>> {
    effects.iter().map(move |first| {
        let on = |effect: &&Effect| effect.from <= first.from && first.from <= until(effect);
        effects.iter().filter(on).collect()
    })
}

/// The least group limit where all groups can lack a leader at once, else nothing.
fn joint_gap(effects: &[Effect], limits: &BTreeMap<GroupName, Limits>) -> Option<Span> {
    let until = |effect: &Effect| effect.gap_until;
    let all: BTreeSet<&GroupName> = limits.keys().collect();
    if meetings(effects, &until).any(|met| covers(&met, &all)) {
        limits.values().filter_map(|limits| limits.gap).min()
    } else {
        Some(Span::default())
    }
}

/// One group's overlap may begin before another's is over: the joint one is at most all of them.
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

/// Whether these effects can hit all the groups. A target names all that it hits, or leaves it to
/// chance which: then it can be any that are left, and at most as many as the largest choice has.
fn covers(effects: &[&Effect], groups: &BTreeSet<&GroupName>) -> bool {
    let (named, chance): (Vec<&Effect>, Vec<&Effect>) =
        effects.iter().partition(|effect| effect.choices.len() == 1);
    let hit = named.iter().flat_map(|effect| &effect.choices).flatten();
    let hit: BTreeSet<&GroupName> = hit.collect();
    let most = |effect: &&Effect| effect.choices.iter().map(BTreeSet::len).max().unwrap_or(0);
    groups.difference(&hit).count() <= chance.iter().map(most).sum()
}
