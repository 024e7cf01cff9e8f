//! Gaps that are not final yet: those that go on, and those that have just ended.
//!
//! A gap is certain some time after it began, and its end is final some time after it was so. A
//! promise is broken when it is broken: so what has been heard of who leads now counts until it is
//! final, and no longer. It may be corrected, as all that is said of this moment.

use std::collections::BTreeMap;
use std::time::Duration;

use super::lane::{END, Lane};
use super::{LAG, Live, PATIENCE};
use crate::timeline::Interval;
use tandem_facts::ids::{GroupName, PartitionId, RoleIndex};
use tandem_facts::roles::RoleClass;
use tandem_facts::time::Mono;

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

    /// What of it is still not final, once a gap is that ended then.
    pub(super) fn unless_final(self, until: Mono) -> Option<Self> {
        (self.span.from >= until).then_some(self)
    }

    /// When neither of the two was led.
    fn and(self, other: Self) -> Option<Self> {
        let span = self.span.intersect(other.span);
        (!span.is_empty()).then_some(Self { span, back: self.back.max(other.back) })
    }

    /// The gaps that this and a certain one are, which is not over as far as is final. It may have
    /// begun before the last claim ended, and it lasts as long as is certain, despite claims in
    /// between. It is another gap where the partition was led in between.
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
    /// The gaps of a group, or of all groups together, that are not final, each with the roles that
    /// it befalls. One that goes on has no end.
    #[must_use]
    pub fn open_gaps(&self, group: Option<&GroupName>, now: Mono) -> Vec<(Interval, RoleClass)> {
        let gaps = |(unled, certain): (Option<Unled>, Option<Interval>)| match (unled, certain) {
            // What has been heard knows of an end, if there is one.
            (Some(unled), gap) if gap.is_none_or(|gap| gap.from < unled.span.until) => {
                unled.gaps(gap)
            }
            // It is led again, as far as has been heard; since when is not final.
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

    /// The latest time in which no group led what is on these partitions.
    fn unled_in_all(&self, at: &BTreeMap<GroupName, PartitionId>, now: Mono) -> Option<Unled> {
        let of = |(name, on): (&GroupName, &PartitionId)| {
            self.groups.get(name)?.lanes.get(on)?.unled_lately(now)
        };
        let mut all = at.iter().map(of);
        let first = all.next()??;
        all.try_fold(first, |all, one| all.and(one?))
    }

    /// When the last gap of a role in all groups at once ended, as far as has been heard: not
    /// before the time up to which it is certain that it went on, despite claims in between.
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
        // It goes on for longer than was heard.
        assert_eq!(gaps(heard(20, [50, 90]), [40, 95]), [Some(span([40, 95])), None]);
        // The claim in between was not served.
        assert_eq!(gaps(heard(45, [50, 90]), [30, 60]), [Some(span([30, 90])), None]);
        // It was led in between, as far as has been heard.
        let both = [Some(span([30, 45])), Some(span([50, 90]))];
        assert_eq!(gaps(heard(45, [50, 90]), [30, 40]), both);
    }
}
