//! The sections of groups whose members elect by words to each other.

use std::fmt;

use super::super::{Electorate, Plan, PlannedGroup};
use super::{costs, members_and_roles};
use crate::ids::GroupName;
use crate::neli::elections::among::Among;

/// The rest of the section of a group that elects among its members alone.
pub(super) fn by_links(
    f: &mut fmt::Formatter<'_>,
    plan: &Plan,
    group: &PlannedGroup,
    Electorate { election, members: count }: Electorate,
) -> fmt::Result {
    let least = if election.votes() { count / 2 + 1 } else { 1 };
    let by = election.by();
    writeln!(f, "  among members   by {by}: {least} of {count} must live, all on one machine")?;
    rest(f, plan, group, election)
}

/// The rest of the section of a group that elects over NATS.
pub(super) fn over_nats(
    f: &mut fmt::Formatter<'_>,
    plan: &Plan,
    (name, group): (&GroupName, &PlannedGroup),
) -> fmt::Result {
    let Some(election) = plan.among_of(group) else { return Ok(()) };
    let (by, subject) = (election.by(), plan.subject(name));
    writeln!(f, "  over nats       by {by}, on subjects below {subject}")?;
    rest(f, plan, group, election)
}

fn rest(
    f: &mut fmt::Formatter<'_>,
    plan: &Plan,
    group: &PlannedGroup,
    election: Among,
) -> fmt::Result {
    let pace = &group.pace;
    members_and_roles(f, plan, group)?;
    let (session, heartbeat, threshold) = (pace.session, pace.heartbeat, pace.threshold);
    let promise = if election.is_exclusive() { "exclusive" } else { "not exclusive, no fence" };
    writeln!(
        f,
        "  pace            session {session}, heartbeat {heartbeat}; a claim ends {threshold} {} \
         ({promise})",
        election.ends()
    )?;
    costs(f, plan, group)
}
