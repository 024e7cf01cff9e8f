//! Finds steps that break a limit for every seed. Every run of such an experiment would end with
//! exit code 5, so none is started.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::chaos::brief::IN_FORCE;
use crate::chaos::cost::taken;
use crate::chaos::{Experiment, Pick, Series, Step, Target, Trigger};
use crate::ids::{GroupName, HostName};
use crate::time::Span;
use crate::topology::{Allowance, Plan};
use crate::yaml::{Cursor, Problem};

/// The most combinations of steps that are examined.
const WAYS_MAX: usize = 4_096;

/// How many members of each group are down; 0 for a group that only loses its broker.
type Hit = BTreeMap<GroupName, u32>;

/// The steps that always break a limit, and a limit of time that is too short.
pub(super) fn fits(experiment: &Experiment, plan: &Plan, root: Cursor<'_>) -> Vec<Problem> {
    let limits = experiment.limits.or(plan.limits);
    let mut problems = Vec::new();
    for (index, step) in experiment.method.iter().enumerate() {
        let above: Vec<&Step> = experiment.method.iter().take(index).collect();
        if let Some((message, ours)) = broken(step, &above, experiment, plan, limits) {
            let whose = if ours { "`limits`" } else { "the topology's `limits`" };
            let origin = root.key("method").index(index).key("target").origin();
            let hint = format!("hit fewer, or raise {whose}");
            problems.push(Problem::at(origin, message).hint(hint));
        }
    }
    problems.extend(in_time(experiment, limits, root));
    problems
}

/// Why the step exceeds a limit for every choice of victims, and whether that limit is the
/// experiment's.
fn broken(
    step: &Step,
    above: &[&Step],
    experiment: &Experiment,
    plan: &Plan,
    limits: Allowance,
) -> Option<(String, bool)> {
    let mut ways = hits(step, plan);
    for other in above.iter().filter(|other| is_surely_on(other, step, experiment, plan)) {
        // A victim of one fault cannot be the victim of another.
        if matches!(step.target, Some(Target::Member(_))) && other.target == step.target {
            continue;
        }
        let others = hits(other, plan);
        if others.is_empty() || ways.len().saturating_mul(others.len()) > WAYS_MAX {
            continue;
        }
        let both = |way: &Hit| others.iter().map(|other| met(way, other, plan)).collect::<Vec<_>>();
        ways = ways.iter().flat_map(both).collect();
    }
    let mut found = None;
    for way in &ways {
        let (message, members) = exceeded(way, plan, limits)?;
        let own = experiment.limits;
        let ours = if members { own.members.is_some() } else { own.groups.is_some() };
        found.get_or_insert((message, ours));
    }
    found
}

/// The limit that a combination of victims exceeds, and whether it is the limit of members.
fn exceeded(hit: &Hit, plan: &Plan, limits: Allowance) -> Option<(String, bool)> {
    let members = limits.members.and_then(|share| {
        let mut groups = hit.iter();
        let (name, down) = groups.find(|(name, down)| **down > share.at_most(size(plan, name)))?;
        let many = if *down == 1 { "1 member" } else { &format!("{down} members") };
        Some((format!("{many} of `{name}` would be down: the limit is {share}"), true))
    });
    let groups = limits.groups.and_then(|most| {
        let hit = u32::try_from(hit.len()).unwrap_or(u32::MAX);
        let many = if hit == 1 { "1 group" } else { &format!("{hit} groups") };
        let message = format!("{many} would be hit at once: the limit is {most}");
        (hit > most).then_some((message, false))
    });
    members.or(groups)
}

/// All combinations of groups that a step can hit, each with the fewest members; none for a storm,
/// which stays within its limits.
fn hits(step: &Step, plan: &Plan) -> Vec<Hit> {
    let Some(target) = &step.target else { return Vec::new() };
    let one_each = match step.fault.series() {
        Some(Series::Drawn(_)) => return Vec::new(),
        Some(Series::InTurn(_)) => true,
        None => false,
    };
    if let Target::Machine(_) = target {
        let on = |host: HostName| {
            let groups = Target::Machine(Some(host.clone())).groups(plan);
            let down = |name: &GroupName| {
                let there = plan.groups.get(name).and_then(|group| group.host.as_ref());
                if there == Some(&host) { size(plan, name) } else { 0 }
            };
            groups.into_iter().map(|name| (name.clone(), down(&name))).collect()
        };
        return target.hosts(plan).into_iter().map(on).collect();
    }
    let down = |name: GroupName| {
        let least = if one_each { 1 } else { least(target, size(plan, &name)) };
        (name, least)
    };
    let all = target.choices(plan).into_iter();
    if one_each {
        return all.flatten().map(|name| [down(name)].into()).collect();
    }
    all.map(|groups| groups.into_iter().map(down).collect()).collect()
}

/// The fewest members that a target hits in a group of `size`.
fn least(target: &Target, size: u32) -> u32 {
    match target {
        Target::Member(_) | Target::LeaderOf { .. } | Target::LeadersAcross { .. } => 1,
        Target::Group { mode, .. } | Target::GroupsAcross { mode, .. } => match mode {
            Pick::Leaders => 1,
            Pick::One
            | Pick::Minority
            | Pick::Majority
            | Pick::All
            | Pick::Count(_)
            | Pick::Percent(_) => mode.of(size),
        },
        Target::Host(_) | Target::Machine(_) | Target::Cluster(_) => size,
        Target::Coordinator { .. } | Target::Leading { .. } | Target::Brokers { .. } => 0,
    }
}

/// What is down if a second step strikes while the victims of the first are still down.
fn met(second: &Hit, first: &Hit, plan: &Plan) -> Hit {
    let mut both = second.clone();
    for (name, down) in first.iter().filter(|(_, down)| **down > 0) {
        let sum = both.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*down).min(size(plan, name));
    }
    both
}

fn size(plan: &Plan, name: &GroupName) -> u32 {
    let members = plan.groups.get(name).map_or(0, |group| group.members.len());
    u32::try_from(members).unwrap_or(u32::MAX)
}

/// Whether the victims of `first` are still down when `second` strikes, for every seed.
fn is_surely_on(first: &Step, second: &Step, experiment: &Experiment, plan: &Plan) -> bool {
    let target = first.target.as_ref();
    let groups = target.map(|target| target.groups(plan)).unwrap_or_default();
    let away = groups.iter().map(|group| taken(first, plan, group)).min();
    let since = chained(first, second, experiment).or_else(|| {
        let (from, to) = (window(first, experiment), window(second, experiment));
        let soonest = to.0.checked_sub(from.1 + IN_FORCE)?;
        Some((soonest, to.1.saturating_sub(from.0)))
    });
    since.zip(away).is_some_and(|((_, latest), away)| latest < away)
}

/// How long after `first` is in force a step is due that waits for it: earliest and latest.
fn chained(first: &Step, second: &Step, all: &Experiment) -> Option<(Duration, Duration)> {
    let Trigger::After(before, delay) = &second.trigger else { return None };
    let (soonest, latest) = (delay.get(), delay.get() + second.jitter.get());
    if *before == first.id {
        return Some((soonest, latest));
    }
    let between = all.method.iter().find(|step| step.id == *before)?;
    let (from, to) = chained(first, between, all)?;
    Some((from + soonest, to + IN_FORCE + latest))
}

/// When a step is due, counted from the trial's beginning: earliest and latest.
fn window(step: &Step, all: &Experiment) -> (Duration, Duration) {
    let (from, to) = match &step.trigger {
        Trigger::At(at) => (at.get(), at.get()),
        Trigger::After(before, delay) => {
            let before = all.method.iter().find(|step| step.id == *before);
            let (from, to) = before.map(|before| window(before, all)).unwrap_or_default();
            (from + delay.get(), to + IN_FORCE + delay.get())
        }
    };
    (from, to + step.jitter.get())
}

/// A limit of time that even the shortest trials exceed.
fn in_time(experiment: &Experiment, limits: Allowance, root: Cursor<'_>) -> Option<Problem> {
    let most = limits.time?;
    let ends = |step: &Step| window(step, experiment).0 + step.fault.lasts().unwrap_or_default();
    let one = experiment.method.iter().map(ends).max()?;
    let trials = experiment.until.as_ref().map_or(experiment.trials, |until| until.min);
    let least = Span(one.saturating_mul(trials));
    if least <= most {
        return None;
    }
    let many = if trials == 1 { "1 trial takes" } else { &format!("{trials} trials take") };
    let own = root.key("limits").key("time");
    let place = if own.exists() { own } else { root.key("trials") };
    let message = format!("{many} at least {least}: the limit of time is {most}");
    Some(Problem::at(place.origin(), message))
}
