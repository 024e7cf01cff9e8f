//! How claims begin and end: the same in all elections.

use super::{Elects, Turn};
use tandem_facts::observation::{Ending, Horizon};
use tandem_facts::time::Mono;

/// The claim of an election begins now, if it has one.
pub(in crate::elections) fn begin<E: Elects>(election: &E, turn: &mut Turn<'_, E::Word>) {
    if let Some(claim) = election.claim() {
        turn.out.acquired(claim, turn.now);
    }
}

/// The claim of an election ends at `at`, if it has one and its time does not end before; whether
/// it has one.
pub(in crate::elections) fn end<E: Elects>(
    election: &E,
    turn: &mut Turn<'_, E::Word>,
    at: Mono,
    why: Ending,
) -> bool {
    let Some(claim) = election.claim() else { return false };
    turn.out.ended(Horizon { until: at.min(claim.until), ..claim }, why);
    true
}

/// Ends the claim of an election whose time is over; whether it has one.
pub(in crate::elections) fn lapse<E: Elects>(election: &E, turn: &mut Turn<'_, E::Word>) -> bool {
    let now = turn.now;
    election.claim().is_some_and(|claim| claim.until <= now)
        && end(election, turn, now, Ending::Unproven)
}
