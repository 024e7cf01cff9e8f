//! Whether the brokers of a fault of the network are there, and whether its victims speak to them.

use super::{no_cluster, no_group, role_fits};
use crate::chaos::{Far, Network, Target};
use crate::ids::{ClusterName, GroupName};
use crate::topology::{Address, Edges, Plan};
use crate::yaml::{Cursor, Problem};

/// What keeps this from being done to the target, on this plan.
pub(super) fn fits(
    network: &Network,
    target: &Target,
    plan: &Plan,
    step: Cursor<'_>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let place = step.key("from");
    match &network.from {
        Far::Cluster(None) | Far::Coordinator(None) => {}
        Far::Cluster(Some(cluster)) => {
            if plan.groups.values().any(|group| group.cluster == *cluster) {
                problems.extend(elsewhere(cluster, target, plan, place.key("cluster")));
            } else {
                problems.push(no_cluster(cluster, plan, place.key("cluster")));
            }
        }
        Far::Address(_) | Far::Node(_) => problems.extend(numbered(target, plan, place)),
        Far::Coordinator(Some(group)) => {
            problems.extend(of_group(group, target, plan, place.key("coordinator_of")));
        }
        Far::Leader { role, group } => {
            role_fits(role.as_ref(), plan, place, &mut problems);
            let place = place.key("group");
            problems.extend(group.iter().filter_map(|it| of_group(it, target, plan, place)));
        }
    }
    problems.extend(readable(plan, step));
    problems
}

/// A group whose brokers the victims never speak to, or that is none.
fn of_group(group: &GroupName, target: &Target, plan: &Plan, place: Cursor<'_>) -> Option<Problem> {
    match plan.groups.get(group) {
        Some(planned) => elsewhere(&planned.cluster, target, plan, place),
        None => Some(no_group(group.as_str(), plan, place)),
    }
}

/// A victim that is on no such cluster.
fn elsewhere(
    cluster: &ClusterName,
    target: &Target,
    plan: &Plan,
    place: Cursor<'_>,
) -> Option<Problem> {
    let groups = target.groups(plan);
    let mut groups = groups.iter().filter_map(|name| plan.groups.get(name).map(|it| (name, it)));
    let (name, group) = groups.find(|(_, group)| group.cluster != *cluster)?;
    let own = &group.cluster;
    let message = format!("members of `{name}` are on cluster `{own}`, not on `{cluster}`");
    let hint = "without `from` each victim is cut off from its own cluster";
    Some(Problem::at(place.origin(), message).hint(hint))
}

/// One broker among several.
fn numbered(target: &Target, plan: &Plan, place: Cursor<'_>) -> Option<Problem> {
    let groups = target.groups(plan);
    let own = groups.iter().filter_map(|name| plan.groups.get(name)).map(|group| &group.cluster);
    let embedded = |name: &&ClusterName| {
        plan.clusters.get(*name).is_none_or(|cluster| cluster.address == Address::Embedded)
    };
    let name = own.into_iter().find(embedded)?;
    let message = format!("cluster `{name}` is embedded: one broker is all");
    Some(
        Problem::at(place.key("broker").origin(), message)
            .hint("without `from` each victim is cut off from its own cluster"),
    )
}

/// What is encrypted cannot be read on the way.
fn readable(plan: &Plan, step: Cursor<'_>) -> Option<Problem> {
    if plan.edges == Edges::Direct {
        return None;
    }
    let name = plan.unreadable()?;
    let message = format!("no edge can read what is said to cluster `{name}`: it is encrypted");
    Some(
        Problem::at(step.key("fault").origin(), message)
            .hint("a topology without TLS can be cut; `pause` needs no edge"),
    )
}
