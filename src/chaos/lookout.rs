//! Evaluates `stop_when` while a trial runs. Pure: the caller passes it the live fold and the time
//! again and again.

use std::collections::BTreeMap;

use crate::ids::{GroupName, RoleIndex};
use crate::live::Live;
use crate::time::{Mono, Span};
use crate::topology::Plan;
use crate::verdict::{Condition, Measure, Subject};

/// A role in one group, or in all together; of roles that share their partitions, the first.
type Place = (Option<GroupName>, RoleIndex);

/// Watches one condition.
pub struct Lookout<'a> {
    condition: &'a Condition,
    plan: &'a Plan,
    /// Since when each place violates the condition.
    since: BTreeMap<Place, Mono>,
}

impl<'a> Lookout<'a> {
    /// A lookout that has seen nothing yet.
    #[must_use]
    pub fn new(condition: &'a Condition, plan: &'a Plan) -> Self {
        Self { condition, plan, since: BTreeMap::new() }
    }

    /// Evaluates the condition once. Returns a description of the violation. An interval counts
    /// from the call that first saw it, so its length is never overstated.
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

    /// Whether a role has no leader, or several, at this moment.
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
            Measure::Gap => "no member has led",
            Measure::Overlap | Measure::Takeover => "more than one has led",
        };
        format!("stop_when {}: {what} {place} for {longest:.1?}", self.condition)
    }
}
