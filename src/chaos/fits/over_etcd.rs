//! An experiment has no brokers of a group that elects over etcd.

use crate::chaos::Target;
use crate::topology::Plan;
use crate::yaml::{Cursor, Problem};

/// The problem of a target that names brokers, if they may be etcd.
pub(super) fn problem(target: &Target, plan: &Plan, step: Cursor<'_>) -> Option<Problem> {
    if !target.names_brokers() {
        return None;
    }
    let over = |name: &_| plan.groups.get(name).is_some_and(|it| plan.etcd_of(it).is_some());
    let name = target.groups(plan).into_iter().find(over)?;
    let message = format!("group `{name}` elects over etcd, which has no brokers");
    let hint = "name a cluster of Kafka; a step `exec` can stop etcd itself";
    Some(Problem::at(step.key("target").origin(), message).hint(hint))
}
