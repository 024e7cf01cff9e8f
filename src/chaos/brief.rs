//! What an experiment may cost on a plan: the limits that its assertions and its report compare
//! with.
//!
//! A step costs a group what the plan's bounds say of its fault, and of the restart that follows.
//! Steps whose effects can meet in one group cost the sum, for a second death can hold up the
//! rebalance that the first began. All groups together lack a leader only where all can be hit at
//! once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Experiment, Fault, Step, Target, Trigger};
use crate::ids::GroupName;
use crate::time::Span;
use crate::topology::{Address, Plan};
use crate::verdict::{Brief, Limits};

/// From a process's start to its first request, where nobody is left who could lead meanwhile.
const START_UP: Duration = Duration::from_secs(1);
/// `group.initial.rebalance.delay.ms`: how long a broker waits before it fills an empty group.
const INITIAL_DELAY: Duration = Duration::from_secs(3);
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
                        .map(|met| met.iter().map(|effect| cost(effect, group)).sum());
                    Span(sums.max().unwrap_or_default())
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
    /// It hits all of these, or else one of them.
    every: bool,
    costs: BTreeMap<GroupName, Limits>,
}

impl Effect {
    fn gap(&self, group: &GroupName) -> Duration {
        self.costs.get(group).map_or(Duration::ZERO, |cost| cost.gap.get())
    }

    fn overlap(&self, group: &GroupName) -> Duration {
        self.costs.get(group).map_or(Duration::ZERO, |cost| cost.overlap.get())
    }
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
        let longest = |part: &dyn Fn(&Limits) -> Span| {
            costs.values().map(|cost| part(cost).get()).max().unwrap_or_default()
        };
        let gap_until = to + longest(&|cost| cost.gap);
        let back = target.groups(plan).iter().map(|group| restart(step, plan, group)).max();
        let overlap_until = gap_until + back.unwrap_or_default() + longest(&|cost| cost.overlap);
        let every = target.is_across();
        effects.push(Effect { from, gap_until, overlap_until, every, costs });
    }
    effects
}

/// The high ends of what a step can do to a group.
fn cost(step: &Step, target: &Target, plan: &Plan, name: &GroupName) -> Limits {
    let Some(group) = plan.groups.get(name) else { return Limits::NONE };
    let bounds = &group.bounds;
    let fault = match step.fault {
        Fault::Kill => bounds.kill,
        Fault::Pause => bounds.pause,
        Fault::Broker => bounds.broker,
        Fault::Noop => return Limits::NONE,
    };
    let mut gap = fault.gap.high.get().max(bounds.restart.gap.high.get());
    if leaves_nobody(target, group.members.len()) {
        // Then nobody takes over: the gap ends when the victims are back.
        let away = match step.fault {
            Fault::Kill => restart(step, plan, name) + START_UP,
            Fault::Pause | Fault::Broker | Fault::Noop => step.lasts.unwrap_or_default().get(),
        };
        let delay = match plan.clusters.get(&group.cluster).map(|cluster| &cluster.address) {
            Some(Address::Bootstrap(_)) => INITIAL_DELAY,
            Some(Address::Embedded) | None => Duration::ZERO,
        };
        gap += away + delay;
    }
    let moved = match step.fault {
        // What moved at the takeover may move again at the restart, before the first claims lapsed.
        Fault::Kill if restart(step, plan, name) <= gap + fault.overlap.high.get() => {
            bounds.restart.overlap.high.get()
        }
        Fault::Kill | Fault::Broker | Fault::Noop => Duration::ZERO,
        // Who wakes has been given up for dead, and joins again.
        Fault::Pause => bounds.leave.gap.high.get(),
    };
    let overlap = fault.overlap.high.get() + moved;
    Limits { gap: Span(gap), overlap: Span(overlap) }
}

fn restart(step: &Step, plan: &Plan, group: &GroupName) -> Duration {
    let planned = plan.groups.get(group).map(|group| group.restart_after).unwrap_or_default();
    match step.fault {
        Fault::Kill => step.restart_after.unwrap_or(planned).get(),
        Fault::Broker => step.restart_after.unwrap_or_default().get(),
        Fault::Pause | Fault::Noop => Duration::ZERO,
    }
}

fn leaves_nobody(target: &Target, members: usize) -> bool {
    let members = u32::try_from(members).unwrap_or(u32::MAX);
    match target {
        Target::Coordinator { .. } => false,
        Target::Member(_) | Target::LeaderOf { .. } | Target::LeadersAcross { .. } => members <= 1,
        Target::Group { mode, .. } | Target::GroupsAcross { mode, .. } => {
            mode.of(members) >= members
        }
    }
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
fn joint_gap(effects: &[Effect], limits: &BTreeMap<GroupName, Limits>) -> Span {
    let until = |effect: &Effect| effect.gap_until;
    let all: BTreeSet<&GroupName> = limits.keys().collect();
    if meetings(effects, &until).any(|met| covers(&met, &all)) {
        limits.values().map(|limits| limits.gap).min().unwrap_or_default()
    } else {
        Span::default()
    }
}

/// One group's overlap may begin before another's is over: the joint one is at most all of them.
fn joint_overlap(effects: &[Effect]) -> Span {
    let until = |effect: &Effect| effect.overlap_until;
    let sums = meetings(effects, &until).map(|met| {
        let costs = met.iter().map(|effect| {
            let costs = effect.costs.values().map(|cost| cost.overlap.get());
            if effect.every { costs.sum() } else { costs.max().unwrap_or_default() }
        });
        costs.sum::<Duration>()
    });
    Span(sums.max().unwrap_or_default())
}

/// Whether these effects can hit all the groups. A target names one group, or all that it hits, or
/// leaves it to chance which of all: then it can be any that is left.
fn covers(effects: &[&Effect], groups: &BTreeSet<&GroupName>) -> bool {
    let (named, chance): (Vec<&Effect>, Vec<&Effect>) =
        effects.iter().partition(|effect| effect.every || effect.costs.len() == 1);
    let hit: BTreeSet<&GroupName> = named.iter().flat_map(|effect| effect.costs.keys()).collect();
    groups.difference(&hit).count() <= chance.len()
}

impl Limits {
    const NONE: Self = Self { gap: Span::ms(0), overlap: Span::ms(0) };
}
