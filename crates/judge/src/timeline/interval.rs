//! Half-open intervals `[from, until)` on the monotonic clock, and sets of them.

use std::time::Duration;

use tandem_facts::time::Mono;

/// All instants from `from` up to, but not including, `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interval {
    /// The first instant.
    pub from: Mono,
    /// The first instant after the interval.
    pub until: Mono,
}

impl Interval {
    /// The interval from `from` to `until`; empty if `until` is not later.
    #[must_use]
    pub const fn new(from: Mono, until: Mono) -> Self {
        Self { from, until }
    }

    /// Whether the interval contains no instant.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.from >= self.until
    }

    /// The length of the interval.
    #[must_use]
    pub fn length(self) -> Duration {
        self.until.since(self.from)
    }

    /// Whether the interval contains `at`.
    #[must_use]
    pub fn contains(self, at: Mono) -> bool {
        self.from <= at && at < self.until
    }

    /// The instants in both intervals.
    #[must_use]
    pub fn intersect(self, other: Self) -> Self {
        Self::new(self.from.max(other.from), self.until.min(other.until))
    }

    /// The interval from the earlier start to the later end of the two.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self::new(self.from.min(other.from), self.until.max(other.until))
    }

    /// Whether the two overlap or meet.
    #[must_use]
    pub fn touches(self, other: Self) -> bool {
        self.from <= other.until && other.from <= self.until
    }
}

/// A set of instants: ascending, non-empty intervals that neither overlap nor meet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IntervalSet(Vec<Interval>);

impl FromIterator<Interval> for IntervalSet {
    fn from_iter<I: IntoIterator<Item = Interval>>(intervals: I) -> Self {
        let mut all: Vec<_> = intervals.into_iter().filter(|one| !one.is_empty()).collect();
        all.sort_unstable();
        let mut set: Vec<Interval> = Vec::with_capacity(all.len());
        for next in all {
            match set.last_mut() {
                Some(last) if next.from <= last.until => last.until = last.until.max(next.until),
                Some(_) | None => set.push(next),
            }
        }
        Self(set)
    }
}

impl From<Interval> for IntervalSet {
    fn from(interval: Interval) -> Self {
        Self::from_iter([interval])
    }
}

impl IntervalSet {
    /// The intervals, ascending.
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Interval> + '_ {
        self.0.iter().copied()
    }

    /// Whether the set contains no instant.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the set contains `at`.
    #[must_use]
    pub fn contains(&self, at: Mono) -> bool {
        self.at(at).is_some()
    }

    /// The interval that contains `at`.
    #[must_use]
    pub fn at(&self, at: Mono) -> Option<Interval> {
        let after = self.0.partition_point(|one| one.until <= at);
        self.0.get(after).copied().filter(|one| one.contains(at))
    }

    /// Whether the set overlaps or meets `interval`.
    #[must_use]
    pub fn touches(&self, interval: Interval) -> bool {
        let near = self.0.partition_point(|one| one.until < interval.from);
        self.0.get(near).is_some_and(|one| one.touches(interval))
    }

    /// The total length.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.0.iter().fold(Duration::ZERO, |sum, one| sum.saturating_add(one.length()))
    }

    /// The instants in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }

    /// The instants in both sets.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        let (mut ours, mut theirs) = (self.iter().peekable(), other.iter().peekable());
        let mut both = Vec::new();
        while let (Some(&a), Some(&b)) = (ours.peek(), theirs.peek()) {
            let common = a.intersect(b);
            if !common.is_empty() {
                both.push(common);
            }
            // The interval that ends first cannot overlap any further one.
            if a.until <= b.until {
                ours.next();
            } else {
                theirs.next();
            }
        }
        Self(both)
    }

    /// The instants in this set only.
    #[must_use]
    pub fn subtract(&self, other: &Self) -> Self {
        let mut rest = Vec::new();
        let mut holes = other.iter().peekable();
        for mut one in self.iter() {
            while let Some(&hole) = holes.peek() {
                if hole.from >= one.until {
                    break;
                }
                if one.from < hole.from {
                    rest.push(Interval::new(one.from, hole.from));
                }
                one.from = one.from.max(hole.until);
                if hole.until > one.until {
                    break; // `other` may reach into the next interval
                }
                holes.next();
            }
            if !one.is_empty() {
                rest.push(one);
            }
        }
        Self(rest)
    }

    /// All instants that are at most `by` away from one of the set.
    #[must_use]
    pub fn widened(&self, by: Duration) -> Self {
        self.iter().map(|one| Interval::new(one.from - by, one.until + by)).collect()
    }

    /// The instants of the set that are further than `by` from all others. What begins with the
    /// clock, or ends never, has no edge there.
    #[must_use]
    pub fn narrowed(&self, by: Duration) -> Self {
        let narrow = |one: Interval| {
            let from = if one.from == Mono::ZERO { one.from } else { one.from + by };
            let until = if one.until == Mono(u64::MAX) { one.until } else { one.until - by };
            Interval::new(from, until)
        };
        self.iter().map(narrow).collect()
    }

    /// The instants within `window`.
    #[must_use]
    pub fn within(&self, window: Interval) -> Self {
        self.intersect(&window.into())
    }
}
