//! Two processes of one static member throw each other out, again and again.

use crate::chaos::{AnyFault, Kind, Target};
use crate::topology::Plan;
use crate::yaml::{Cursor, Problem};

/// The problem of a fault that starts a static member a second time.
pub(super) fn problem(
    strike: &AnyFault,
    target: &Target,
    plan: &Plan,
    step: Cursor<'_>,
) -> Option<Problem> {
    let is_static = |name: &_| plan.groups.get(name).is_some_and(|it| it.pace.static_members);
    let name = target.groups(plan).into_iter().find(is_static)?;
    (strike.kind() == Kind::Duplicate).then(|| {
        let message = format!("group `{name}` has static members, of which there is one each");
        let hint = "the second process would take the place of the first: leave out \
                    `static_members`";
        Problem::at(step.key("fault").origin(), message).hint(hint)
    })
}
