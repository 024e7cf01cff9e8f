//! Members that elect among themselves have no edges: how a partition hits them.

pub(super) mod shell;

use crate::chaos::Target;
use crate::ids::GroupName;
use crate::topology::{Plan, PlannedGroup};

/// Which of the groups that a step hits elect among their members.
pub(super) enum Members {
    None,
    /// Some of them, by their names.
    Some(String),
    All,
}

/// Which of the groups of this target do.
pub(super) fn among(target: Option<&Target>, plan: &Plan) -> Members {
    those(target, plan, |group| plan.elects_alone(group))
}

/// In which of the groups of this target members undo a cut themselves: those, and the ones that
/// take orders, whose edge is in their own process.
pub(super) fn undoing(target: Option<&Target>, plan: &Plan) -> Members {
    those(target, plan, |group| plan.elects_alone(group) || group.takes_orders())
}

fn those(target: Option<&Target>, plan: &Plan, is_one: impl Fn(&PlannedGroup) -> bool) -> Members {
    let groups = target.map(|target| target.groups(plan)).unwrap_or_default();
    let is_one = |name: &&GroupName| plan.groups.get(*name).is_some_and(&is_one);
    let names: Vec<&str> = groups.iter().filter(is_one).map(GroupName::as_str).collect();
    match names.len() {
        0 => Members::None,
        some if some == groups.len() => Members::All,
        _ => Members::Some(names.join(", ")),
    }
}
