//! All groups together: how many of them lead each role.

use std::collections::BTreeMap;

use super::event::{Event, Health, Place};
use super::group::GroupState;
use super::tally::Tally;
use crate::roster::Roster;
use crate::timeline::{Coverage, Interval};
use tandem_facts::ids::{GroupName, PartitionId};
use tandem_facts::roles::RoleClass;
use tandem_facts::time::Mono;

/// Roles on the same partitions in every group. All of them share their gaps.
#[derive(Debug, Clone)]
pub(super) struct Class {
    /// Their partition in each group.
    pub(super) at: BTreeMap<GroupName, PartitionId>,
    pub(super) tally: Tally,
    /// How many groups lead them now.
    pub(super) led: usize,
}

/// The classes of the roles of a roster, in the order of their first roles. There are about as
/// many as partitions.
pub(super) fn classes(roster: &Roster) -> Vec<Class> {
    let class = |roles: RoleClass| Class {
        at: roster
            .groups
            .iter()
            .map(|(name, group)| (name.clone(), group.partition(roles.first)))
            .collect(),
        tally: Tally::new(Place { group: None, roles }),
        led: 0,
    };
    roster.classes().map(class).collect()
}

impl Class {
    /// Counts a decided window, from how many lives served each partition of each group.
    pub(super) fn count(
        &mut self,
        window: Interval,
        services: &BTreeMap<GroupName, BTreeMap<PartitionId, Coverage>>,
        events: &mut Vec<Event>,
    ) {
        let lanes = self.at.iter().filter_map(|(name, on)| services.get(name)?.get(on));
        let sum = lanes.fold(Coverage::default(), Coverage::plus);
        for (step, count) in sum.steps(window) {
            self.tally.serve(step, count, events);
        }
    }

    /// Finds how many groups lead the class now, and its health.
    pub(super) fn look(
        &mut self,
        groups: &BTreeMap<GroupName, GroupState>,
    ) -> (Health, Option<Mono>) {
        let lanes = || self.at.iter().filter_map(|(name, on)| groups.get(name)?.lanes.get(on));
        let led = lanes().filter(|lane| lane.is_led()).count();
        let lost = || lanes().filter_map(super::lane::Lane::unled_since);
        // What others may lead counts for nothing: it is neither led nor lost.
        let unknown = lanes().filter(|lane| lane.is_unknown()).count();
        let never = self.at.len().saturating_sub(led + lost().count() + unknown);
        let health = Health::of(led, lost().count(), never);
        // Down since the last group lost it; degraded since the first did.
        let since = if led == 0 { lost().max() } else { lost().min() };
        self.led = led;
        (health, since)
    }

    /// Until when certainly no group led it, although a group leads it again, as far as known.
    pub(super) fn led_again(&self) -> Option<Mono> {
        self.tally.gap().filter(|_| self.led > 0).map(|gap| gap.until)
    }
}
