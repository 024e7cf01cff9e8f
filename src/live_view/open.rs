//! Gaps that are not final yet: those that go on, and those that have just ended.
//!
//! The watch reports a gap when it is certain, and its end when that is final; both come with a
//! delay. A broken objective must show without that delay. So, until the watch is final, this
//! module counts the gaps that follow from the current claims. Later facts may correct them.

use std::collections::BTreeMap;
use std::time::Duration;

use super::picture::Counts;
use super::table::{Cell, Table, ms};
use crate::ids::{GroupName, RoleIndex};
use crate::live::{LAG, PATIENCE};
use crate::roles::RoleClass;
use crate::time::Mono;
use crate::timeline::Interval;

/// The end of an interval that goes on.
const END: Mono = Mono(u64::MAX);
/// How long after its end the watch is final about a gap.
const FINAL: Duration = LAG.saturating_add(PATIENCE);

/// An interval in which a partition had no leader, as far as is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unled {
    /// The interval.
    span: Interval,
    /// When the previous such interval ended.
    back: Mono,
}

/// Gaps that are not final, counted for each role.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pending {
    /// How many go on.
    open: u64,
    /// How long the longest of these has lasted.
    open_ms_max: f64,
    /// The length of the longest, including those that have just ended.
    pub(super) longest_ms: f64,
}

impl Unled {
    /// An interval that begins at `from`, after an earlier one.
    pub(super) fn began(from: Mono, before: Option<Self>) -> Self {
        let back = before.map_or(Mono::ZERO, |before| before.span.until.min(from));
        Self { span: Interval::new(from, END), back }
    }

    /// Ends the interval. `None` if it is empty.
    pub(super) fn ended(mut self, until: Mono) -> Option<Self> {
        self.span.until = self.span.until.min(until);
        (!self.span.is_empty()).then_some(self)
    }

    /// Since when it lasts, if it goes on.
    pub(super) fn goes_on_since(self) -> Option<Mono> {
        (self.span.until == END).then_some(self.span.from)
    }

    /// The interval, unless it belongs to the final `gap`.
    pub(super) fn unless_final(self, gap: Interval) -> Option<Self> {
        (self.span.from >= gap.until).then_some(self)
    }

    /// The time in which neither of the two was led.
    fn and(self, other: Self) -> Option<Self> {
        let span = self.span.intersect(other.span);
        (!span.is_empty()).then_some(Self { span, back: self.back.max(other.back) })
    }

    /// The gaps that this interval and a certain gap form; the certain gap goes on as far as the
    /// watch is final. A certain gap may begin before the last claim ended, and it includes claims
    /// that were not served. The two are separate gaps if a member led in between.
    fn gaps(self, certain: Option<Interval>) -> [Option<Interval>; 2] {
        let Some(certain) = certain else { return [Some(self.span), None] };
        if self.back <= certain.from || self.span.from <= certain.until {
            let from = certain.from.min(self.span.from);
            return [Some(Interval::new(from, certain.until.max(self.span.until))), None];
        }
        let earlier = Interval::new(certain.from, certain.until.max(self.back));
        [Some(earlier), Some(self.span)]
    }
}

impl Pending {
    /// Adds the open gaps to the final counts.
    pub(super) fn and(self, counts: Counts) -> Counts {
        Counts { open: self.open, open_ms_max: self.open_ms_max, ..counts }
    }

    fn add(&mut self, gap: Interval, now: Mono, roles: u32) {
        let lasted = ms(Interval::new(gap.from, gap.until.min(now)).length());
        self.longest_ms = self.longest_ms.max(lasted);
        if gap.until == END {
            self.open += u64::from(roles);
            self.open_ms_max = self.open_ms_max.max(lasted);
        }
    }
}

impl Table {
    /// The gaps that are not final, of one group or of all groups together.
    pub(super) fn pending(&self, group: Option<&GroupName>, now: Mono) -> Pending {
        let open = self.open.iter().filter(|(place, _)| place.group.as_ref() == group);
        let open = open.map(|(place, from)| (place.roles.first, *from));
        let certain: BTreeMap<RoleIndex, Mono> = open.collect();
        let mut pending = Pending::default();
        for roles in self.classes(group) {
            let certain = certain.get(&roles.first);
            let certain = certain.map(|from| Interval::new(*from, self.settled));
            let gaps = match (self.unled(group, roles.first, now), certain) {
                // The claims show an end, if there is one.
                (Some(unled), gap) if gap.is_none_or(|gap| gap.from < unled.span.until) => {
                    unled.gaps(gap)
                }
                // It is led again by the claims, but since when is not final.
                (_, Some(gap)) => [Some(Interval::new(gap.from, now)), None],
                (Some(_) | None, None) => [None; 2],
            };
            for gap in gaps.into_iter().flatten().filter_map(|gap| self.judged(gap)) {
                pending.add(gap, now, roles.count);
            }
        }
        pending
    }

    /// The classes of roles with the same gaps, in one group or in all groups together.
    fn classes(&self, group: Option<&GroupName>) -> Vec<RoleClass> {
        match group.and_then(|name| self.plan.groups.get(name)) {
            Some(planned) => self.plan.classes_of(planned).collect(),
            None => self.plan.classes().collect(),
        }
    }

    /// The latest interval in which a role was not led, in one group or in all groups together.
    fn unled(&self, group: Option<&GroupName>, role: RoleIndex, now: Mono) -> Option<Unled> {
        let of = |name: &GroupName| {
            let partition = self.plan.groups.get(name)?.partition(role);
            self.groups.get(name)?.partitions.get(&partition)?.unled_lately(now)
        };
        if let Some(name) = group {
            return of(name);
        }
        let mut all = self.plan.groups.keys().map(of);
        let first = all.next()??;
        all.try_fold(first, |all, one| all.and(one?))
    }
}

impl Cell {
    fn unled_lately(&self, now: Mono) -> Option<Unled> {
        self.unled.filter(|unled| now.since(unled.span.until) <= FINAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span([from, until]: [u64; 2]) -> Interval {
        Interval::new(Mono(from), Mono(until))
    }

    #[test]
    fn a_certain_gap_is_the_one_that_claims_show_or_comes_before_it() {
        let heard = |back, over| Unled { span: span(over), back: Mono(back) };
        let gaps = |unled: Unled, certain| unled.gaps(Some(span(certain)));
        assert_eq!(heard(0, [50, 90]).gaps(None), [Some(span([50, 90])), None]);
        // It began before the last claim ended.
        assert_eq!(gaps(heard(20, [50, 90]), [40, 45]), [Some(span([40, 90])), None]);
        // It lasts longer than the claims show.
        assert_eq!(gaps(heard(20, [50, 90]), [40, 95]), [Some(span([40, 95])), None]);
        // The claim in between was not served.
        assert_eq!(gaps(heard(45, [50, 90]), [30, 60]), [Some(span([30, 90])), None]);
        // A member led in between, as far as the claims show.
        let both = [Some(span([30, 45])), Some(span([50, 90]))];
        assert_eq!(gaps(heard(45, [50, 90]), [30, 40]), both);
    }
}
