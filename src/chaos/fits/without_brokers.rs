//! An experiment has no brokers, and no network, of a group that does not elect on Kafka.

use super::manned_alone;
use crate::chaos::{Network, Target};
use crate::topology::Plan;
use crate::yaml::{Cursor, Problem};

/// The problem of a target that names brokers, if its group may have none.
pub(super) fn problem(target: &Target, plan: &Plan, step: Cursor<'_>) -> Option<Problem> {
    if !target.names_brokers() {
        return None;
    }
    let place = step.key("target");
    let without = |name: &_| plan.groups.get(name).is_some_and(|it| !plan.is_on_kafka(it));
    let groups = target.groups(plan);
    if groups.is_empty() {
        return Some(Problem::at(place.origin(), "no group of this topology is on Kafka"));
    }
    let name = groups.into_iter().find(without)?;
    if manned_alone(&name, plan) {
        let message = format!("group `{name}` elects among its members, without brokers");
        let hint = "name a cluster of Kafka, or hit the members: {group: p1}, {leader_of: any}";
        return Some(Problem::at(place.origin(), message).hint(hint));
    }
    let store = match plan.groups.get(&name) {
        Some(group) if plan.zookeeper_of(group).is_some() => "ZooKeeper",
        Some(group) if plan.is_over_nats(group) => "NATS",
        Some(_) | None => "etcd",
    };
    let message = format!("group `{name}` elects over {store}, which has no brokers");
    let hint = format!("name a cluster of Kafka; a step `exec` can stop {store} itself");
    Some(Problem::at(place.origin(), message).hint(hint))
}

/// The problem of a fault of the network that needs edges, if a victim may have none: members that
/// elect among themselves can only be cut off from all others.
pub(super) fn unreached(
    network: &Network,
    target: &Target,
    plan: &Plan,
    step: Cursor<'_>,
) -> Option<Problem> {
    if network.is_plain() {
        return None;
    }
    let name = target.groups(plan).into_iter().find(|name| manned_alone(name, plan))?;
    let message = format!("group `{name}` elects among its members, and no edge is between them");
    let on_kafka = plan.groups.iter().find(|(_, group)| plan.is_on_kafka(group));
    let hint = match on_kafka {
        Some((other, _)) => {
            format!("`partition` alone cuts them off; or name another group: {{group: {other}}}")
        }
        None => "`partition`, with `for` and nothing else, cuts them off".to_owned(),
    };
    Some(Problem::at(step.key("target").origin(), message).hint(hint))
}
