//! Watches, while a trial is on, for what must end it: `stop_when`. Pure: it is shown the live fold
//! again and again, with the time.

use std::collections::BTreeMap;

use crate::ids::{GroupName, RoleIndex};
use crate::live::Live;
use crate::time::{Mono, Span};
use crate::topology::Plan;
use crate::verdict::{Condition, Measure, Subject};

/// What is led, or not: the first of roles that share their partitions, in one group or in all.
type Place = (Option<GroupName>, RoleIndex);

/// Watches one condition.
pub struct Lookout<'a> {
    condition: &'a Condition,
    plan: &'a Plan,
    /// Since when each place is as it should not be.
    since: BTreeMap<Place, Mono>,
}

impl<'a> Lookout<'a> {
    /// Has seen nothing yet.
    #[must_use]
    pub fn new(condition: &'a Condition, plan: &'a Plan) -> Self {
        Self { condition, plan, since: BTreeMap::new() }
    }

    /// Looks once; what the condition has found, in words. An interval counts from the look at
    /// which it was first seen, so it is never taken for longer than it is.
    pub fn look(&mut self, now: Mono, live: &Live) -> Option<String> {
        let mut since = BTreeMap::new();
        for roles in self.plan.classes() {
            for group in self.subjects() {
                let place = (group, roles.first);
                if self.is_on(now, live, place.0.as_ref(), roles.first) {
                    let first = self.since.get(&place).copied().unwrap_or(now);
                    since.insert(place, first);
                }
            }
        }
        self.since = since;
        let lasts = |(place, first): (&Place, &Mono)| (now.since(*first), place.clone());
        let (longest, place) = self.since.iter().map(lasts).max()?;
        let found = self.condition.comparison.holds(&Span(longest), &self.condition.than);
        found.then(|| self.describe(longest, &place))
    }

    fn subjects(&self) -> Vec<Option<GroupName>> {
        match &self.condition.subject {
            Subject::Joint => vec![None],
            Subject::EachGroup => self.plan.groups.keys().cloned().map(Some).collect(),
            Subject::Group(group) => vec![Some(group.clone())],
        }
    }

    /// Whether a role has nobody, or several, at this moment.
    fn is_on(&self, now: Mono, live: &Live, group: Option<&GroupName>, role: RoleIndex) -> bool {
        let count = |name: &GroupName| -> usize {
            let Some(planned) = self.plan.groups.get(name) else { return 0 };
            let partition = planned.partition(role);
            match self.condition.measure {
                Measure::Gap => live.serving(now, name, partition).count(),
                Measure::Overlap | Measure::Takeover => {
                    live.claimants(now, name, partition).count()
                }
            }
        };
        let mut groups = self.plan.groups.keys().filter(|name| group.is_none_or(|it| it == *name));
        match self.condition.measure {
            Measure::Gap => groups.all(|name| count(name) == 0),
            Measure::Overlap | Measure::Takeover => groups.any(|name| count(name) > 1),
        }
    }

    fn describe(&self, longest: std::time::Duration, (group, role): &Place) -> String {
        let role = self.plan.roles.name(*role).map_or_else(String::new, String::from);
        let place = match group {
            Some(group) => format!("{role} in {group}"),
            None => role,
        };
        let what = match self.condition.measure {
            Measure::Gap => "nobody has led",
            Measure::Overlap | Measure::Takeover => "more than one has led",
        };
        format!("stop_when {}: {what} {place} for {longest:.1?}", self.condition)
    }
}
