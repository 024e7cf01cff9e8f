//! What `on_death` and `suspect` need.

use super::places::Places;
use super::{Group, MembershipClient, Mode, OnDeath, Pace, defaults};
use crate::ids::GroupName;
use crate::time::Span;
use crate::yaml::Problem;

/// Signs of life leave each eighth of that; a busy host delays them by some milliseconds.
const SUSPECT_LEAST: Span = Span::ms(20);
/// Every member is linked to every other.
const LINKED_MOST: u32 = 100;
/// Of two members none can tell whose silence it is.
const SUSPECTING: u32 = 3;

/// The first rule that a group breaks.
pub(super) fn problem(
    group: &Group,
    pace: &Pace,
    name: &GroupName,
    places: Places<'_>,
) -> Option<Problem> {
    let members = group.members.unwrap_or(defaults::MEMBERS);
    let at = |key: &str, message: &str| Problem::at(places.setting(name, key), message);
    match pace.on_death {
        OnDeath::Expire | OnDeath::Leave if pace.suspect.is_some() => {
            let problem = at("suspect", "`suspect` without stand-ins");
            Some(problem.hint("it belongs to `on_death: stand-in`"))
        }
        OnDeath::Expire => None,
        // The broker knows a member by an id that librdkafka does not tell.
        OnDeath::Leave => (pace.membership != MembershipClient::Own).then(|| {
            let message = "`on_death: leave` needs the id by which the broker knows a member";
            at("on_death", message).hint("write `membership: own` as well")
        }),
        OnDeath::StandIn if pace.mode != Mode::NonExclusive => {
            let message = "only in non-exclusive mode members stand in for each other";
            Some(at("on_death", message).hint("`on_death: leave` is for the other modes"))
        }
        OnDeath::StandIn if !pace.handover => {
            let message = "a stand-in ends when the new owner states that it leads";
            let hint = "write `handover: true` and `membership: own`";
            Some(at("on_death", message).hint(hint))
        }
        OnDeath::StandIn if members < 2 => {
            let message = "a group of one member has no other to stand in for it";
            Some(at("on_death", message).hint("write `members: 2` at least"))
        }
        OnDeath::StandIn if members > LINKED_MOST => {
            let message = format!("{members} members are too many to be linked to each other");
            let hint = format!("at most {LINKED_MOST} members stand in for each other");
            Some(at("on_death", &message).hint(hint))
        }
        OnDeath::StandIn => suspicion(members, pace, name, places),
    }
}

fn suspicion(members: u32, pace: &Pace, name: &GroupName, places: Places<'_>) -> Option<Problem> {
    let suspect = pace.suspect?;
    let at = |message: String| Problem::at(places.setting(name, "suspect"), message);
    if suspect < SUSPECT_LEAST {
        let message = format!("suspect {suspect} is less than {SUSPECT_LEAST}");
        return Some(at(message).hint("a busy host delays signs of life by some milliseconds"));
    }
    if suspect >= pace.session {
        let session = pace.session;
        let message = format!("suspect {suspect} is not below session {session}");
        return Some(at(message).hint("after a session the group has noticed the silence itself"));
    }
    (members < SUSPECTING).then(|| {
        let message = format!("a group of {members} members cannot tell whose silence it is");
        at(message).hint(format!("write `members: {SUSPECTING}` at least, or leave `suspect` out"))
    })
}
