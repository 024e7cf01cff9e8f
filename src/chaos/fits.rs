//! Whether an experiment fits a plan: every name exists, every target matches a member, no restart
//! comes too early, no step must break a limit, and no claim compares with an unknown bound.

mod bounded;
mod far;
mod limited;
mod twins;
mod without_brokers;

use std::collections::BTreeSet;

use super::{Across, Experiment, Pick, Step, Target};
use crate::ids::{ClusterName, GroupName, HostName, MemberId, RoleName};
use crate::time::Span;
use crate::topology::{Plan, PlannedGroup, Share, Terms};
use crate::verdict::Subject;
use crate::yaml::{Cursor, Node, Problem, choices};

/// Every problem that keeps the experiment, read from `document`, from running on this plan.
#[must_use]
pub fn fits(experiment: &Experiment, document: &Node, plan: &Plan) -> Vec<Problem> {
    let root = Cursor::of(document);
    let mut problems = Vec::new();
    if let Some((name, _)) = plan.groups.iter().find(|(_, group)| group.members.is_empty()) {
        let message = format!("group `{name}` has no member that an experiment may hit");
        let hint = if plan.groups.get(name).is_some_and(PlannedGroup::takes_orders) {
            "start some with `tandem hold`, and hit them with `chaos run --on`".to_owned()
        } else {
            format!("have Tandem start some: --set groups.{name}.launch=tandem")
        };
        return vec![Problem::at(root.origin(), message).hint(hint)];
    }
    for (index, step) in experiment.method.iter().enumerate() {
        let place = root.key("method").index(index);
        let known = problems.len();
        if let Some(target) = &step.target {
            target_fits(target, plan, place.key("target"), &mut problems);
        }
        if let Some(target) = &step.target
            && problems.len() == known
        {
            for strike in step.fault.strikes() {
                problems.extend(without_brokers::problem(target, plan, place));
                problems.extend(twins::problem(&strike, target, plan, place));
                let network = strike.network();
                problems.extend(network.iter().flat_map(|it| far::fits(it, target, plan, place)));
            }
        }
        if problems.len() == known {
            problems.extend(restart_fits(step, plan, place));
        }
    }
    let assertions = experiment.assertions.iter().enumerate();
    let judged = assertions.map(|(at, it)| (&it.subject, root.key("assert").index(at)));
    let stop = experiment.stop_when.iter().map(|it| (&it.subject, root.key("stop_when")));
    for (subject, place) in judged.chain(stop) {
        if let Subject::Group(name) = subject
            && !plan.groups.contains_key(name)
        {
            problems.push(no_group(name.as_str(), plan, place));
        }
    }
    if problems.is_empty() {
        problems = limited::fits(experiment, plan, root);
    }
    if problems.is_empty() {
        problems = bounded::fits(experiment, plan, root.key("assert"));
    }
    problems
}

fn target_fits(target: &Target, plan: &Plan, place: Cursor<'_>, problems: &mut Vec<Problem>) {
    match target {
        Target::Member(member) => {
            if plan.group_of(member).is_none() {
                let members = plan.groups.values().flat_map(|group| &group.members);
                problems.push(
                    Problem::at(
                        place.key("member").origin(),
                        format!("there is no member `{member}`"),
                    )
                    .hint(choices(member.as_str(), members.map(MemberId::as_str))),
                );
            }
        }
        Target::Host(host) => {
            if target.groups(plan).is_empty() {
                let hosts = Target::Host(None).hosts(plan);
                problems.push(no_host(host.as_ref(), &hosts, place.key("host")));
            }
        }
        Target::Machine(host) => {
            let hosts = Target::Machine(None).hosts(plan);
            if host.as_ref().map_or(hosts.is_empty(), |host| !hosts.contains(host)) {
                problems.push(no_host(host.as_ref(), &hosts, place.key("host")));
            }
        }
        Target::Cluster(cluster) => {
            if target.groups(plan).is_empty() {
                problems.push(no_cluster(cluster, plan, place.key("cluster")));
            }
        }
        Target::LeaderOf { role, group } | Target::Leading { role, group } => {
            role_fits(role.as_ref(), plan, place, problems);
            group_fits(group.as_ref(), plan, place, problems);
        }
        Target::LeadersAcross { role, across } => {
            role_fits(role.as_ref(), plan, place, problems);
            across_fits(across, plan, place.key("across"), problems);
        }
        Target::Coordinator { group } => {
            if let Some(name) = group.as_ref().filter(|name| !plan.groups.contains_key(*name)) {
                problems.push(no_group(name.as_str(), plan, place.key("coordinator_of")));
            }
        }
        Target::Brokers { cluster } => {
            let unused = |name: &&ClusterName| plan.on(name).is_empty();
            if let Some(name) = cluster.as_ref().filter(unused) {
                problems.push(no_cluster(name, plan, place.key("cluster")));
            }
        }
        Target::Group { group, mode } => {
            group_fits(group.as_ref(), plan, place, problems);
            for (name, planned) in chosen(group.as_ref(), plan) {
                problems.extend(mode_fits(*mode, name, planned, place));
            }
        }
        Target::GroupsAcross { mode, across } => {
            across_fits(across, plan, place.key("across"), problems);
            for (name, planned) in &plan.groups {
                if across.groups.as_ref().is_none_or(|names| names.contains(name)) {
                    problems.extend(mode_fits(*mode, name, planned, place));
                }
            }
        }
    }
}

/// How many roles are searched for a similar name.
const ROLES_MAX: usize = 1_000;

fn role_fits(role: Option<&RoleName>, plan: &Plan, place: Cursor<'_>, problems: &mut Vec<Problem>) {
    if let Some(role) = role.filter(|role| plan.role(role).is_none()) {
        let roles: Vec<_> = plan.roles.names().take(ROLES_MAX).collect();
        let roles = roles.iter().map(RoleName::as_str);
        let origin = place.key("leader_of").origin();
        problems.push(
            Problem::at(origin, format!("there is no role `{role}`"))
                .hint(choices(role.as_str(), roles)),
        );
    }
}

fn group_fits(
    group: Option<&GroupName>,
    plan: &Plan,
    place: Cursor<'_>,
    problems: &mut Vec<Problem>,
) {
    if let Some(name) = group.filter(|name| !plan.groups.contains_key(*name)) {
        problems.push(no_group(name.as_str(), plan, place.key("group")));
    }
}

fn across_fits(across: &Across, plan: &Plan, place: Cursor<'_>, problems: &mut Vec<Problem>) {
    let place = place.key("groups");
    let Some(groups) = &across.groups else { return };
    if groups.is_empty() {
        problems.push(Problem::at(place.origin(), "no group is named").hint("`all`, or names"));
    }
    for name in groups.iter().filter(|name| !plan.groups.contains_key(*name)) {
        problems.push(no_group(name.as_str(), plan, place));
    }
}

/// A mode that matches no member, or more members than the group has.
fn mode_fits(
    mode: Pick,
    name: &GroupName,
    group: &PlannedGroup,
    place: Cursor<'_>,
) -> Option<Problem> {
    let members = u32::try_from(group.members.len()).unwrap_or(u32::MAX);
    let wanted = mode.of(members);
    let origin = place.key("mode").origin();
    if wanted == 0 {
        let message = format!("this matches none of the {members} members of `{name}`");
        return Some(Problem::at(origin, message));
    }
    (wanted > members)
        .then(|| Problem::at(origin, format!("`{name}` has {members} members, not {wanted}")))
}

impl Pick {
    /// The most of `members` that the mode picks.
    #[must_use]
    pub fn of(self, members: u32) -> u32 {
        match self {
            Self::One => 1,
            Self::Minority => members.saturating_sub(1) / 2,
            Self::Majority => members / 2 + 1,
            Self::All | Self::Leaders => members,
            Self::Count(count) => count,
            Self::Percent(percent) => Share::Percent(percent).of(members),
        }
    }
}

/// A member that comes back before its session has expired makes the group wait for the rest of it.
fn restart_fits(step: &Step, plan: &Plan, place: Cursor<'_>) -> Option<Problem> {
    let strikes = step.fault.strikes();
    let early = strikes.iter().filter_map(|fault| fault.restart()).find(|it| !it.overlaps);
    let (restart_after, target) = (early?.after, step.target.as_ref()?);
    let (name, least) = target
        .manned(plan)
        .into_iter()
        .filter_map(|name| {
            let group = plan.groups.get(&name)?;
            let after = restart_after.unwrap_or(group.restart_after);
            let address = &plan.clusters.get(&group.cluster)?.address;
            let least = Span(Terms::of(&group.pace, address).soonest_restart());
            (after < least).then_some((name, least))
        })
        .next()?;
    let key = if restart_after.is_some() { "restart_after" } else { "fault" };
    let message =
        format!("the restart may come before the dead member's session in `{name}` expires");
    Some(
        Problem::at(place.key(key).origin(), message)
            .hint(format!("at least {least}, or say `overlap_restart: true`")),
    )
}

/// Whether it is a group that elects among its members.
fn manned_alone(name: &GroupName, plan: &Plan) -> bool {
    plan.groups.get(name).is_some_and(|group| plan.elects_alone(group))
}

fn no_group(name: &str, plan: &Plan, place: Cursor<'_>) -> Problem {
    Problem::at(place.origin(), format!("there is no group `{name}`"))
        .hint(choices(name, plan.groups.keys().map(GroupName::as_str)))
}

/// A host without groups; or no group names its host.
fn no_host(host: Option<&HostName>, hosts: &BTreeSet<HostName>, place: Cursor<'_>) -> Problem {
    let Some(host) = host else {
        return Problem::at(place.origin(), "no group says which host it is on")
            .hint("as in groups: {p1: {host: alpha}}; or name members another way");
    };
    Problem::at(place.origin(), format!("no group is on a host `{host}`"))
        .hint(choices(host.as_str(), hosts.iter().map(HostName::as_str)))
}

/// A cluster without groups.
fn no_cluster(name: &ClusterName, plan: &Plan, place: Cursor<'_>) -> Problem {
    let with = plan.groups.values().filter(|group| !plan.elects_alone(group));
    let used: BTreeSet<_> = with.map(|group| group.cluster.as_str()).collect();
    Problem::at(place.origin(), format!("no group is on a cluster `{name}`"))
        .hint(choices(name.as_str(), used))
}

fn chosen<'a>(
    group: Option<&'a GroupName>,
    plan: &'a Plan,
) -> impl Iterator<Item = (&'a GroupName, &'a PlannedGroup)> {
    plan.groups.iter().filter(move |(name, _)| group.is_none_or(|group| group == *name))
}
