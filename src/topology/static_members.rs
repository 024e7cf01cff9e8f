//! What `static_members` needs.

use super::places::Places;
use super::{MembershipClient, Mode, OnDeath, Pace};
use crate::ids::GroupName;
use crate::yaml::Problem;

/// The settings that contradict static members.
pub(super) fn problems(pace: &Pace, name: &GroupName, places: Places<'_>) -> Vec<Problem> {
    if !pace.static_members {
        return Vec::new();
    }
    let at = |key: &str, message: String, hint: &str| {
        Problem::at(places.setting(name, key), message).hint(hint.to_owned())
    };
    let mut problems = Vec::new();
    if pace.mode != Mode::NonExclusive {
        // Its claims may last while the successor leads, which the coordinator does not wait for.
        let message = format!("a static member proves nothing in {} mode", pace.mode.as_str());
        let hint = "any process with its name takes its place at once: only the non-exclusive mode \
                    has static members";
        problems.push(at("static_members", message, hint));
    }
    if pace.membership != MembershipClient::Own {
        let message = format!("`membership: {}` has no static members", pace.membership);
        problems.push(at("static_members", message, "write `membership: own` as well"));
    }
    if !pace.protocol.is_classic() {
        let message = "only the classic protocol has static members".to_owned();
        problems.push(at("static_members", message, "write `protocol: classic`"));
    }
    if pace.on_death != OnDeath::Expire {
        let message = "the group keeps the place of a static member that died".to_owned();
        let hint = "`on_death: expire` waits for it, the others give its place away at once";
        problems.push(at("on_death", message, hint));
    }
    problems
}
