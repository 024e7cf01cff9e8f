//! What `handover` needs.

use super::places::Places;
use super::{MembershipClient, Mode, Pace};
use crate::ids::GroupName;
use crate::yaml::Problem;

/// Only non-exclusive members lead what their group has taken from them, and only one that knows
/// its generation can tell a later owner from a former one.
pub(super) fn problem(pace: &Pace, name: &GroupName, places: Places<'_>) -> Option<Problem> {
    let fits = pace.mode == Mode::NonExclusive && pace.membership == MembershipClient::Own;
    (pace.handover && !fits).then(|| {
        let message = "`handover: true` needs non-exclusive mode and `membership: own`";
        let hint = "in the other modes a revocation ends a claim, so nothing is handed over";
        Problem::at(places.setting(name, "handover"), message).hint(
            if pace.mode == Mode::NonExclusive { "write `membership: own` as well" } else { hint },
        )
    })
}
