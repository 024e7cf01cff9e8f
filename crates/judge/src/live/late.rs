//! Facts that come too late to be counted.
//!
//! A fact is late if it says who led, or who served, in a time that was counted without it. Of a
//! group that was never certainly led before, nothing was counted: the first facts of its members
//! may be as late as they are. These travel for longer than later ones, because each member
//! connects first. That a member has started or joined its group, or claims nothing, changes
//! nothing of a time that was counted while it was not known.

use std::time::Duration;

use super::Live;
use super::event::Event;
use super::group::GroupState;
use tandem_facts::observation::{Fact, MemberEvent, RunEvent, What};

impl Live {
    /// From now on the final view is so much farther behind: an owner that reads the past waits for
    /// facts that are out of order.
    pub fn wait(&mut self, behind: Duration) {
        self.behind = behind;
    }

    /// Notes the fact if it is late.
    pub(super) fn note_if_late(&mut self, fact: &Fact) {
        let lasts = self.end.is_none_or(|end| fact.t < end);
        if lasts && fact.t < self.settled && self.was_counted_without(fact) {
            let (facts, by) = self.late;
            self.late = (facts.saturating_add(1), by.max(self.settled.since(fact.t)));
        }
    }

    /// Says how many were late since this was last said, if any were.
    pub(super) fn report_late(&mut self) -> Option<Event> {
        let (facts, by) = std::mem::take(&mut self.late);
        (facts > 0).then_some(Event::Late { facts, by })
    }

    /// Whether what was counted may be wrong without a fact of that time.
    fn was_counted_without(&self, fact: &Fact) -> bool {
        let Some(life) = &fact.life else {
            return says_who_led(&fact.what, false)
                && self.groups.values().any(GroupState::has_counted);
        };
        let home = self.homes.get(&life.member).and_then(|home| self.groups.get(home));
        home.is_some_and(|group| {
            let known = group.lives.get(life).and_then(|state| state.known_from);
            let is_new = known.is_none_or(|known_from| fact.t < known_from);
            group.has_counted() && says_who_led(&fact.what, is_new)
        })
    }
}

impl GroupState {
    /// Whether a role of it was certainly led once, so that it counts since.
    fn has_counted(&self) -> bool {
        self.lanes.values().any(|lane| lane.tally.totals.since.is_some())
    }
}

/// `is_new`: it is of a life that was not known when its time was counted.
fn says_who_led(what: &What, is_new: bool) -> bool {
    match what {
        What::Run(event) => !matches!(
            event,
            RunEvent::Started { .. } | RunEvent::Orders { .. } | RunEvent::TrialBegan { .. }
        ),
        What::Member(MemberEvent::Renewed { claims }) => !is_new || !claims.is_empty(),
        What::Member(event) => {
            !is_new
                || matches!(
                    event,
                    MemberEvent::Claimed { .. }
                        | MemberEvent::Lapsed { .. }
                        | MemberEvent::Ticks { .. }
                        | MemberEvent::Hole { .. }
                )
        }
    }
}
