//! Another roster from an instant on: roles come and go, members are added and removed.
//!
//! What was before the instant is counted for the roles that there were, and what is after it for
//! those that there are: a role that did not exist was neither led nor not led. So the roster takes
//! effect when everything before the instant is final. Only new members are known at once.

use std::collections::{BTreeMap, BTreeSet};

use super::event::{Event, Place};
use super::group::GroupState;
use super::lane::Lane;
use super::tally::Tally;
use super::{Live, MemberState, joint};
use crate::roster::{Roster, RosterGroup};
use tandem_facts::ids::MemberId;
use tandem_facts::time::Mono;

impl Live {
    /// From `at` on, this is the roster. It has the groups of the one before, with as many
    /// partitions. [`Event::Changed`] follows when it takes effect. Roles whose neighbours on
    /// their partition change are counted anew.
    pub fn change(&mut self, roster: impl Into<Roster>, at: Mono) {
        let roster = roster.into();
        for (name, group) in &roster.groups {
            let Some(state) = self.groups.get_mut(name) else { continue };
            for member in &group.members {
                self.homes.entry(member.clone()).or_insert_with(|| name.clone());
                state.members.entry(member.clone()).or_insert(MemberState::ABSENT);
            }
        }
        self.coming.push_back((at, roster));
    }

    /// The next roster takes effect.
    pub(super) fn turn(&mut self) {
        let Some((at, roster)) = self.coming.pop_front() else { return };
        let mut events = Vec::new();
        for (name, group) in &roster.groups {
            let Some(state) = self.groups.get_mut(name) else { continue };
            // Members that another roster adds are known already.
            let coming = self.coming.iter().filter_map(|(_, later)| later.groups.get(name));
            let stays = coming.chain([group]).flat_map(|group| &group.members).collect();
            state.turn(&roster, group, &stays, at, &mut events);
        }
        self.homes.retain(|member, home| {
            self.groups.get(home).is_some_and(|group| group.members.contains_key(member))
        });
        let mut before: BTreeMap<_, _> = std::mem::take(&mut self.classes)
            .into_iter()
            .map(|one| (one.at.clone(), one))
            .collect();
        for mut class in joint::classes(&roster) {
            // Partitions tell classes apart: none of the widths has changed.
            if let Some(known) = before.remove(&class.at) {
                (class.led, class.tally) =
                    (known.led, known.tally.of(class.tally.place, at, &mut events));
            }
            self.classes.push(class);
        }
        before.into_values().for_each(|mut gone| gone.tally.end(&mut events));
        self.history.explain(&mut events, self.settled);
        events.push(Event::Changed(at));
        self.events.extend(events);
        self.look_at_health();
    }
}

impl GroupState {
    fn turn(
        &mut self,
        roster: &Roster,
        group: &RosterGroup,
        stays: &BTreeSet<&MemberId>,
        at: Mono,
        events: &mut Vec<Event>,
    ) {
        // Of a group without members in the roster, all are programs of the user.
        if !group.members.is_empty() {
            self.members.retain(|member, state| state.pid.is_some() || stays.contains(member));
        }
        let mut before = std::mem::take(&mut self.lanes);
        for roles in roster.classes_of(group) {
            let (name, on) = (self.name.clone(), group.partition(roles.first));
            let place = Place { group: Some(name), roles };
            let lane = match before.remove(&on) {
                Some(lane) => lane.of(place, at, events),
                None => Lane::new(Tally::new(place), group.foreign),
            };
            self.lanes.insert(on, lane);
        }
        before.into_values().for_each(|mut gone| gone.tally.end(events));
    }
}
