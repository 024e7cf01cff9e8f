//! All groups together: in how many of them each role is led.

use std::collections::BTreeMap;

use super::event::{Event, Health, Place};
use super::group::GroupState;
use super::tally::Tally;
use crate::roster::Roster;
use crate::timeline::{Coverage, Interval};
use tandem_facts::ids::{GroupName, PartitionId};
use tandem_facts::roles::RoleClass;
use tandem_facts::time::Mono;

/// The roles that are on the same partitions in every group: what befalls one befalls all.
#[derive(Debug, Clone)]
pub(super) struct Class {
    /// On which partition of each group they are.
    pub(super) at: BTreeMap<GroupName, PartitionId>,
    pub(super) tally: Tally,
    /// In how many groups they are led now.
    pub(super) led: usize,
}

/// The classes of a roster's roles, in the order of their first roles: mostly as many as there are
/// partitions.
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
    /// Counts a window of which it is known how many served each partition of each group.
    pub(super) fn count(
        &mut self,
        window: Interval,
        services: &BTreeMap<GroupName, BTreeMap<PartitionId, Coverage>>,
        tell: &mut Vec<Event>,
    ) {
        let lanes = self.at.iter().filter_map(|(name, on)| services.get(name)?.get(on));
        let sum = lanes.fold(Coverage::default(), Coverage::plus);
        for (step, count) in sum.steps(window) {
            self.tally.serve(step, count, tell);
        }
    }

    /// Looks in how many groups it is led now, and how it stands with it.
    pub(super) fn look(
        &mut self,
        groups: &BTreeMap<GroupName, GroupState>,
    ) -> (Health, Option<Mono>) {
        let lanes = || self.at.iter().filter_map(|(name, on)| groups.get(name)?.lanes.get(on));
        let led = lanes().filter(|lane| lane.is_led()).count();
        let lost = || lanes().filter_map(super::lane::Lane::unled_since);
        let never = self.at.len().saturating_sub(led + lost().count());
        let health = Health::of(led, lost().count(), never);
        // It is down since the last of them fell, and degraded since the first.
        let since = if led == 0 { lost().max() } else { lost().min() };
        self.led = led;
        (health, since)
    }

    /// Until when it was surely led in no group, though it is led again, as far as has been heard.
    pub(super) fn led_again(&self) -> Option<Mono> {
        self.tally.gap().filter(|_| self.led > 0).map(|gap| gap.until)
    }
}
