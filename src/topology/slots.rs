//! What `slots` needs, and how a plan shows it.

use tandem_facts::keys::SLOTS_MOST;

use super::places::Places;
use super::{Plan, Slots, Spec};
use crate::yaml::Problem;

/// The first rule that the slots break.
pub(super) fn problem(spec: &Spec, places: Places<'_>) -> Option<Problem> {
    let Slots { count, .. } = spec.slots?;
    let at =
        |message: String| Problem::at(places.root().key("slots").key("count").origin(), message);
    if count > SLOTS_MOST {
        let message = format!("{count} slots are more than {SLOTS_MOST}");
        return Some(at(message).hint("a hash of 16 bits reaches no more"));
    }
    let roles = spec.roles.len();
    (count < roles).then(|| {
        at(format!("{count} slots are fewer than {roles} roles"))
            .hint("some roles would have no key: 16384 slots share out evenly, and leave room")
    })
}

/// The line of a plan.
pub(super) fn line(plan: &Plan) -> Option<String> {
    let Slots { count, hash } = plan.slots?;
    let (roles, hash) = (plan.roles.len(), hash.as_str());
    let least = count / roles.max(1);
    let share = if count % roles.max(1) == 0 {
        format!("{least}")
    } else {
        format!("{least} or {}", least + 1)
    };
    Some(format!("keys: {count} slots by {hash}, {share} a role"))
}
