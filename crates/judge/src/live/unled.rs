//! Gaps that are not final yet: those that go on, and those that have just ended.
//!
//! The final view reports a gap when it is certain, and its end when that is final; both come with
//! a delay. A broken objective must show without that delay. So, until the final view has decided,
//! the gaps that follow from the current claims count. Later facts may correct them.

use std::collections::BTreeMap;
use std::time::Duration;

use super::lane::{END, Lane};
use super::{LAG, Live, PATIENCE};
use crate::timeline::Interval;
use tandem_facts::ids::{GroupName, PartitionId, RoleIndex};
use tandem_facts::roles::RoleClass;
use tandem_facts::time::Mono;

/// How long after its end it is final whether there was a gap.
const FINAL: Duration = LAG.saturating_add(PATIENCE);

/// An interval in which a partition had no leader, as far as known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unled {
    /// The interval.
    span: Interval,
    /// When the previous such interval ended.
    back: Mono,
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

    /// The interval, unless it belongs to a final gap that ended at that instant.
    pub(super) fn unless_final(self, until: Mono) -> Option<Self> {
        (self.span.from >= until).then_some(self)
    }

    /// The time in which neither of the two was led.
    fn and(self, other: Self) -> Option<Self> {
        let span = self.span.intersect(other.span);
        (!span.is_empty()).then_some(Self { span, back: self.back.max(other.back) })
    }

    /// The gaps that this interval and a certain gap form; the certain gap goes on as far as the
    /// fold is final. A certain gap may begin before the last claim ended, and it includes claims
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

impl Live {
    /// The gaps that are not final, of one group or of all groups together, each with its roles. A
    /// gap that goes on has no end.
    #[must_use]
    pub fn open_gaps(&self, group: Option<&GroupName>, now: Mono) -> Vec<(Interval, RoleClass)> {
        let gaps = |(unled, certain): (Option<Unled>, Option<Interval>)| match (unled, certain) {
            // The claims show an end, if there is one.
            (Some(unled), gap) if gap.is_none_or(|gap| gap.from < unled.span.until) => {
                unled.gaps(gap)
            }
            // It is led again by the claims, but since when is not final.
            (_, Some(gap)) => [Some(Interval::new(gap.from, now)), None],
            (Some(_) | None, None) => [None; 2],
        };
        let certain = |gap: Option<Interval>| gap.map(|gap| Interval::new(gap.from, self.settled));
        let mut open = Vec::new();
        if let Some(name) = group {
            let lanes = self.groups.get(name).into_iter().flat_map(|group| group.lanes.values());
            for lane in lanes {
                let found = gaps((lane.unled_lately(now), certain(lane.tally.gap())));
                let roles = lane.tally.place.roles;
                open.extend(found.into_iter().flatten().map(|gap| (gap, roles)));
            }
            return open;
        }
        for class in &self.classes {
            let found = gaps((self.unled_in_all(&class.at, now), certain(class.tally.gap())));
            let roles = class.tally.place.roles;
            open.extend(found.into_iter().flatten().map(|gap| (gap, roles)));
        }
        open
    }

    /// The latest interval in which no group led these partitions.
    fn unled_in_all(&self, at: &BTreeMap<GroupName, PartitionId>, now: Mono) -> Option<Unled> {
        let of = |(name, on): (&GroupName, &PartitionId)| {
            self.groups.get(name)?.lanes.get(on)?.unled_lately(now)
        };
        let mut all = at.iter().map(of);
        let first = all.next()??;
        all.try_fold(first, |all, one| all.and(one?))
    }

    /// When the last joint gap of a role ended, by the current claims, but not before the time up
    /// to which the gap certainly went on.
    #[must_use]
    pub fn joint_gap_until(&self, role: RoleIndex) -> Option<Mono> {
        let class = self.class(role)?;
        let lanes = class.at.iter().filter_map(|(name, on)| self.groups.get(name)?.lanes.get(on));
        let led = lanes.filter(|lane| class.tally.gap().is_some() && lane.is_led());
        let led = led.map(|lane| lane.served_since().max(self.settled)).max();
        led.max(class.tally.ended)
    }
}

impl Lane {
    fn unled_lately(&self, now: Mono) -> Option<Unled> {
        self.pending.filter(|unled| now.since(unled.span.until) <= FINAL)
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
