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
    problems.extend(speakable(plan, step));
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

/// Edges speak TLS in their members' place, and do not know all that librdkafka does.
fn speakable(plan: &Plan, step: Cursor<'_>) -> Option<Problem> {
    if plan.edges == Edges::Direct {
        return None;
    }
    let (name, property) = plan.beyond_edges()?;
    let message =
        format!("this needs edges, and none can speak to cluster `{name}` by `{property}`");
    Some(
        Problem::at(step.key("fault").origin(), message)
            .hint("say it with PEM files: `ssl.ca.location`, `ssl.certificate.location` ..."),
    )
}
