//! Whether the brokers that a network fault names exist, and whether its victims connect to them.

use super::{no_cluster, no_group, role_fits, without_brokers};
use crate::chaos::{Far, Network, Target};
use crate::ids::{ClusterName, GroupName};
use crate::topology::{Address, Edges, Plan, PlannedGroup};
use crate::yaml::{Cursor, Problem};

/// The problems of this fault with this target on this plan.
pub(super) fn fits(
    network: &Network,
    target: &Target,
    plan: &Plan,
    step: Cursor<'_>,
) -> Vec<Problem> {
    if let Some(problem) = without_brokers::unreached(network, target, plan, step) {
        return vec![problem];
    }
    let mut problems = Vec::new();
    let place = step.key("from");
    match &network.from {
        Far::Cluster(None) | Far::Coordinator(None) => {}
        Far::Cluster(Some(cluster)) => {
            let on = |group: &PlannedGroup| group.cluster == *cluster && !plan.elects_alone(group);
            if plan.groups.values().any(on) {
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

/// A group that does not exist, or whose brokers the victims never connect to.
fn of_group(group: &GroupName, target: &Target, plan: &Plan, place: Cursor<'_>) -> Option<Problem> {
    match plan.groups.get(group) {
        Some(planned) => elsewhere(&planned.cluster, target, plan, place),
        None => Some(no_group(group.as_str(), plan, place)),
    }
}

/// A victim on another cluster.
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

/// A broker number or address, which needs a cluster of several brokers.
fn numbered(target: &Target, plan: &Plan, place: Cursor<'_>) -> Option<Problem> {
    let groups = target.groups(plan);
    let own = groups.iter().filter_map(|name| plan.groups.get(name)).map(|group| &group.cluster);
    let embedded = |name: &&ClusterName| {
        plan.clusters.get(*name).is_none_or(|cluster| cluster.address == Address::Embedded)
    };
    let name = own.into_iter().find(embedded)?;
    let message = format!("cluster `{name}` is embedded and has only one broker");
    Some(
        Problem::at(place.key("broker").origin(), message)
            .hint("without `from` each victim is cut off from its own cluster"),
    )
}

/// Edges speak TLS on behalf of members, and support fewer properties than librdkafka.
fn speakable(plan: &Plan, step: Cursor<'_>) -> Option<Problem> {
    if plan.edges == Edges::Direct {
        return None;
    }
    let (name, property) = plan.beyond_edges()?;
    let message =
        format!("this needs edges, which do not support `{property}` of cluster `{name}`");
    let address = plan.clusters.get(name).map(|cluster| &cluster.address);
    let hint = match address {
        Some(Address::Etcd(_)) => "edges speak Kafka; a step `exec` can cut etcd off",
        Some(Address::Nats(_)) => "edges speak Kafka; a step `exec` can cut NATS off",
        Some(Address::ZooKeeper(_)) => "edges speak Kafka; a step `exec` can cut ZooKeeper off",
        Some(Address::Embedded | Address::Bootstrap(_) | Address::Members(_)) | None => {
            "use PEM files: `ssl.ca.location`, `ssl.certificate.location` ..."
        }
    };
    Some(Problem::at(step.key("fault").origin(), message).hint(hint))
}
