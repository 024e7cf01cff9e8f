//! Gaps that are not final yet: those that go on, and those that have just ended.
//!
//! The watch tells of a gap when it is certain, and of its end when that is final, both some time
//! after it was so. A promise is broken when it is broken: so what has been heard of who leads now
//! counts until it is final, and no longer. It may be corrected, as all that is said of this
//! moment.

use std::collections::BTreeMap;
use std::time::Duration;

use super::picture::Counts;
use super::table::{Cell, Table, ms};
use crate::ids::{GroupName, RoleIndex};
use crate::live::{LAG, PATIENCE};
use crate::roles::RoleClass;
use crate::time::Mono;
use crate::timeline::Interval;

/// The end of what goes on.
const END: Mono = Mono(u64::MAX);
/// So long after its end it is final whether there was a gap at all.
const FINAL: Duration = LAG.saturating_add(PATIENCE);

/// A time in which a partition was not led, as far as is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unled {
    /// Since when, and until when.
    span: Interval,
    /// When it was led again the last time before that.
    back: Mono,
}

/// Gaps that are not final, of each role by itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pending {
    /// How many go on.
    open: u64,
    /// For how long the longest of them has.
    open_ms_max: f64,
    /// How long the longest is, those included that have just ended.
    pub(super) longest_ms: f64,
}

impl Unled {
    /// From then on, after an earlier one.
    pub(super) fn began(from: Mono, before: Option<Self>) -> Self {
        let back = before.map_or(Mono::ZERO, |before| before.span.until.min(from));
        Self { span: Interval::new(from, END), back }
    }

    /// It is over; nothing where it never was.
    pub(super) fn ended(mut self, until: Mono) -> Option<Self> {
        self.span.until = self.span.until.min(until);
        (!self.span.is_empty()).then_some(self)
    }

    /// Since when, where it goes on.
    pub(super) fn goes_on_since(self) -> Option<Mono> {
        (self.span.until == END).then_some(self.span.from)
    }

    /// What of it is still not final, once a gap is.
    pub(super) fn unless_final(self, gap: Interval) -> Option<Self> {
        (self.span.from >= gap.until).then_some(self)
    }

    /// When neither of the two was led.
    fn and(self, other: Self) -> Option<Self> {
        let span = self.span.intersect(other.span);
        (!span.is_empty()).then_some(Self { span, back: self.back.max(other.back) })
    }

    /// The gaps that this and a certain one are, which is not over as far as is final. It may have
    /// begun before nobody claimed to lead, and it lasts as long as is certain, despite claims in
    /// between. It is another gap where somebody has led in between.
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
    /// What has been counted, with what goes on.
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
    /// The gaps of a group that are not final, or of all groups together.
    pub(super) fn pending(&self, group: Option<&GroupName>, now: Mono) -> Pending {
        let open = self.open.iter().filter(|(place, _)| place.group.as_ref() == group);
        let open = open.map(|(place, from)| (place.roles.first, *from));
        let certain: BTreeMap<RoleIndex, Mono> = open.collect();
        let mut pending = Pending::default();
        for roles in self.classes(group) {
            let certain = certain.get(&roles.first);
            let certain = certain.map(|from| Interval::new(*from, self.settled));
            let gaps = match (self.unled(group, roles.first, now), certain) {
                // What has been heard knows of an end, if there is one.
                (Some(unled), gap) if gap.is_none_or(|gap| gap.from < unled.span.until) => {
                    unled.gaps(gap)
                }
                // It is led again, as far as has been heard; since when is not final.
                (_, Some(gap)) => [Some(Interval::new(gap.from, now)), None],
                (Some(_) | None, None) => [None; 2],
            };
            for gap in gaps.into_iter().flatten().filter_map(|gap| self.judged(gap)) {
                pending.add(gap, now, roles.count);
            }
        }
        pending
    }

    /// The classes of roles whose gaps are the same: in one group, or in all together.
    fn classes(&self, group: Option<&GroupName>) -> Vec<RoleClass> {
        match group.and_then(|name| self.plan.groups.get(name)) {
            Some(planned) => self.plan.classes_of(planned).collect(),
            None => self.plan.classes().collect(),
        }
    }

    /// The latest time in which a role was not led in a group, or in none of them.
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
    fn a_certain_gap_is_the_one_that_was_heard_of_or_comes_before_it() {
        let heard = |back, over| Unled { span: span(over), back: Mono(back) };
        let gaps = |unled: Unled, certain| unled.gaps(Some(span(certain)));
        assert_eq!(heard(0, [50, 90]).gaps(None), [Some(span([50, 90])), None]);
        // It began before nobody claimed to lead.
        assert_eq!(gaps(heard(20, [50, 90]), [40, 45]), [Some(span([40, 90])), None]);
        // It goes on for longer than was heard.
        assert_eq!(gaps(heard(20, [50, 90]), [40, 95]), [Some(span([40, 95])), None]);
        // The claim in between was not served.
        assert_eq!(gaps(heard(45, [50, 90]), [30, 60]), [Some(span([30, 90])), None]);
        // It was led in between, as far as has been heard.
        let both = [Some(span([30, 45])), Some(span([50, 90]))];
        assert_eq!(gaps(heard(45, [50, 90]), [30, 40]), both);
    }
}
