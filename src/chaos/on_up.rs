//! Experiments on what is up: they must fit it as it is, and leave a leader.

use std::collections::BTreeMap;
use std::path::Path;

use super::load::{Choice, Prepared, refused};
use super::shipped::locate;
use super::{Allowed, AnyFault, Experiment, Kind, Step, fits, read_text, reading, shown};
use crate::ids::{GroupName, MemberId};
use crate::topology::{Allowance, Edges, Plan, PlannedGroup, Share};
use crate::yaml::{Cursor, FileError, Node, Problem};

/// The faults that the witness of a member carries out; a partition, if nothing passes any more.
const ORDERED: [Kind; 5] = [Kind::Kill, Kind::Leave, Kind::Pause, Kind::Partition, Kind::Noop];

/// Reads an experiment that is to be run on what is up as `plan`, which was read from `topology`.
///
/// # Errors
/// The file has problems, or does not fit what is up.
pub fn load_on(
    path: &Path,
    choice: &Choice,
    plan: &Plan,
    topology: (&str, &[String]),
) -> Result<Prepared, FileError> {
    let path = &*locate(path);
    let text = read_text(path)?;
    let read = read_on(&text, plan, &choice.allowed);
    let (mut experiment, plan) =
        read.map_err(|problems| FileError::new(shown(path), &text, problems))?;
    if let Some(trials) = choice.trials {
        (experiment.trials, experiment.until) = (trials, None);
    }
    Ok(Prepared {
        brief: super::brief(&experiment, &plan),
        seed: choice.seed.or(experiment.seed),
        overrides: topology.1.to_vec(),
        topology_path: plan.topology.to_string().into(),
        topology_text: topology.0.to_owned(),
        experiment,
        plan,
        experiment_text: text,
        experiment_path: path.to_owned(),
    })
}

/// An experiment, with the limits that hold on what is up as `up`, and the plan with the bounds of
/// its pauses.
///
/// # Errors
/// It has problems, or does not fit.
pub fn read_on(
    text: &str,
    up: &Plan,
    allowed: &Allowed,
) -> Result<(Experiment, Plan), Vec<Problem>> {
    let (mut experiment, document) = reading::experiment(text)?;
    let mut problems = refused(&experiment, &document, allowed);
    problems.extend(without_edges(&experiment, &document, up));
    problems.extend(not_ours(&document, up));
    problems.extend(beyond_orders(&experiment, &document, up));
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut plan = up.clone().with_longest_pause(experiment.longest_pause());
    let problems = fits(&experiment, &document, &plan);
    if !problems.is_empty() {
        return Err(problems);
    }
    experiment.limits = limits(experiment.limits, up);
    plan.limits = Allowance::default();
    let problems = fits(&experiment, &document, &plan);
    if !problems.is_empty() {
        let hint = "hit fewer: an experiment on what is up stays within the topology's `limits`, \
                    and leaves a leader";
        return Err(problems.into_iter().map(|problem| problem.hint(hint)).collect());
    }
    Ok((experiment, plan))
}

/// The steps that disturb the network of members that connect to brokers directly. Those that take
/// orders have edges of their own.
fn without_edges(experiment: &Experiment, document: &Node, up: &Plan) -> Vec<Problem> {
    if up.edges == Edges::Proxied {
        return Vec::new();
    }
    let place = Cursor::of(document).key("method");
    let own = |name: &GroupName| up.groups.get(name).is_some_and(PlannedGroup::takes_orders);
    let direct = |step: &Step| {
        let groups = step.target.as_ref().map(|target| target.manned(up));
        groups.is_none_or(|groups| !groups.iter().all(own))
    };
    let steps = experiment.method.iter().enumerate().filter(|(_, step)| direct(step));
    let disturbs = steps
        .filter(|(_, step)| step.fault.strikes().iter().any(|fault| fault.network().is_some()));
    let problem = |index| {
        let name = &up.topology;
        let message = format!("the members of `{name}` connect to their brokers directly");
        let hint = "write `edges: proxied` in the topology, and start it again with `tandem up`";
        Problem::at(place.index(index).key("fault").origin(), message).hint(hint)
    };
    disturbs.map(|(index, _)| problem(index)).collect()
}

/// The plan with these members, which Tandem did not start, and which take orders.
#[must_use]
pub fn with_outside(plan: &Plan, members: &BTreeMap<GroupName, Vec<MemberId>>) -> Plan {
    let mut plan = plan.clone();
    for (name, group) in plan.groups.iter_mut().filter(|(_, group)| group.takes_orders()) {
        group.members = members.get(name).cloned().unwrap_or_default();
    }
    plan
}

/// A group with members of others that take no orders, if there is one.
fn not_ours(document: &Node, up: &Plan) -> Option<Problem> {
    let closed = |group: &PlannedGroup| !group.is_started() && !group.takes_orders();
    let (name, _) = up.groups.iter().find(|(_, group)| closed(group))?;
    let message = format!("`tandem up` has not started the members of group `{name}`");
    let hint = "let experiments hit them: write `chaos: allowed` in the group, and start all again";
    Some(Problem::at(Cursor::of(document).origin(), message).hint(hint))
}

/// The steps that members of others cannot be ordered to undergo.
fn beyond_orders(experiment: &Experiment, document: &Node, up: &Plan) -> Vec<Problem> {
    let place = Cursor::of(document).key("method");
    let problem = |(index, step): (usize, &Step)| {
        let target = step.target.as_ref()?;
        let groups = target.manned(up).into_iter();
        let others = |name: &GroupName| up.groups.get(name).is_some_and(PlannedGroup::takes_orders);
        let name = groups.into_iter().find(others)?;
        let strikes = step.fault.strikes();
        let place = place.index(index);
        let beyond = |fault: &&AnyFault| {
            let some = fault.network().is_some_and(|network| !network.is_plain());
            some || !ORDERED.contains(&fault.kind())
        };
        if let Some(fault) = strikes.iter().find(beyond) {
            let noun = fault.kind().word().noun;
            let message = format!("no {noun} can be ordered of the members of group `{name}`");
            let hint = "Tandem did not start them: `kill`, `leave`, `pause`, `noop`, or \
                        `partition` with `for` and nothing else";
            return Some(Problem::at(place.key("fault").origin(), message).hint(hint));
        }
        let restarts = |fault: &AnyFault| fault.restart().is_some_and(|it| it.after.is_some());
        strikes.iter().any(restarts).then(|| {
            let message = format!("others start the members of group `{name}` again");
            let hint = "leave `restart_after` out, and say in the topology how long it takes: \
                        `restart: {after: 5s}`";
            Problem::at(place.key("restart_after").origin(), message).hint(hint)
        })
    };
    experiment.method.iter().enumerate().filter_map(problem).collect()
}

/// The stricter of the experiment's limits and those of what is up, but at most what leaves a
/// leader: one group, or one member of the only group, must not be hit.
fn limits(own: Allowance, up: &Plan) -> Allowance {
    let size = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let sizes: Vec<u32> = up.groups.values().map(|group| size(group.members.len())).collect();
    let groups = size(sizes.len());
    let spared = match sizes.as_slice() {
        [only] => Some(Share::Count(only.saturating_sub(1))),
        _ => None,
    };
    let members = [own.members, up.limits.members, spared];
    let members = members.into_iter().flatten().reduce(|one, other| stricter(one, other, &sizes));
    let most = [own.groups, up.limits.groups, (groups > 1).then(|| groups - 1)];
    let time = [own.time, up.limits.time];
    Allowance {
        members,
        groups: most.into_iter().flatten().min(),
        time: time.into_iter().flatten().min(),
    }
}

/// A share that allows in no group more than either.
fn stricter(one: Share, other: Share, sizes: &[u32]) -> Share {
    let is_within = |one: Share, other: Share| {
        sizes.iter().all(|size| one.at_most(*size) <= other.at_most(*size))
    };
    if is_within(one, other) {
        one
    } else if is_within(other, one) {
        other
    } else {
        let least = sizes.iter().map(|size| one.at_most(*size).min(other.at_most(*size))).min();
        Share::Count(least.unwrap_or(0))
    }
}
