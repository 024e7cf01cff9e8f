//! One partition of one group: which lives held, claimed and served it, and how many at once.

use std::collections::BTreeMap;
use std::time::Duration;

use super::life::LifeLine;
use super::takeover::takeovers;
use super::{Coverage, Interval, IntervalSet, View};
use tandem_facts::ids::{Life, PartitionId, Term};
use tandem_facts::time::Mono;

/// One partition of one group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lane {
    /// The lives to which the group assigned it.
    pub assigned: Vec<(Life, IntervalSet)>,
    /// Each claim, cut at its author's death.
    pub terms: Vec<(Life, Term, Interval)>,
    /// The lives that claimed it.
    pub claimed: Vec<(Life, View)>,
    /// The lives that served it.
    pub served: Vec<(Life, View)>,
    /// How many lives claimed it at once.
    pub claims: Coverage,
    /// How many lives served it at once.
    pub services: Coverage,
}

/// The findings of one lane, or of several together, within a window.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Sight {
    pub(super) gaps: IntervalSet,
    pub(super) overlaps: IntervalSet,
    pub(super) unknown_gaps: IntervalSet,
    pub(super) unknown_overlaps: IntervalSet,
    pub(super) takeovers: Vec<Interval>,
}

impl Lane {
    /// With `foreign`, members that are not among the lives may hold what these do not.
    pub(super) fn new<'a>(
        partition: PartitionId,
        foreign: bool,
        lives: impl Iterator<Item = (&'a Life, &'a LifeLine)>,
    ) -> Self {
        let mut lane = Self::default();
        let mut held = IntervalSet::default();
        for (life, line) in lives {
            let (claimed, served) = (line.claimed(partition), line.served(partition));
            lane.claims.add(&claimed.sure, &claimed.possible);
            lane.services.add(&served.sure, &served.possible);
            lane.terms
                .extend(line.terms(partition).map(|(term, claim)| (life.clone(), term, claim)));
            held = held.union(&line.holds(partition));
            lane.assigned.push((life.clone(), line.assigned(partition)));
            lane.claimed.push((life.clone(), claimed));
            lane.served.push((life.clone(), served));
        }
        if foreign {
            lane.claims.add_other(&held);
            lane.services.add_other(&held);
        }
        lane
    }

    /// The findings within `window`.
    pub(super) fn look(&self, window: Interval) -> Sight {
        Sight {
            gaps: self.services.when(window, |count| count.max == 0),
            overlaps: self.claims.when(window, |count| count.min >= 2),
            unknown_gaps: self.services.when(window, |count| count.min == 0 && count.max > 0),
            unknown_overlaps: self.claims.when(window, |count| count.min < 2 && count.max >= 2),
            takeovers: takeovers(&self.served, window),
        }
    }

    /// How many lives served at once, summed over several lanes.
    pub(super) fn services_of(lanes: &[&Self]) -> Coverage {
        lanes.iter().fold(Coverage::default(), |sum, lane| sum.plus(&lane.services))
    }

    /// The findings within `window` of the lanes of one role, one per group, given the sum of their
    /// `services`: a gap is where all of them have one, an overlap where any has one.
    pub(super) fn look_jointly(lanes: &[&Self], services: &Coverage, window: Interval) -> Sight {
        let any = |wanted: fn(super::Count) -> bool| {
            let each = lanes.iter().map(|lane| lane.claims.when(window, wanted));
            each.fold(IntervalSet::default(), |sum, one| sum.union(&one))
        };
        let overlaps = any(|count| count.min >= 2);
        Sight {
            gaps: services.when(window, |count| count.max == 0),
            unknown_gaps: services.when(window, |count| count.min == 0 && count.max > 0),
            unknown_overlaps: any(|count| count.max >= 2).subtract(&overlaps),
            overlaps,
            takeovers: Vec::new(),
        }
    }

    /// The least number of `lanes`, one per group, that were surely served throughout `window`.
    pub(super) fn leaders_min(lanes: &[&Self], window: Interval) -> Option<i64> {
        let mut groups = Coverage::default();
        for lane in lanes {
            let led = lane.services.when(window, |count| count.min > 0);
            groups.add(&led, &led);
        }
        groups.steps(window).map(|(_, count)| count.min).min()
    }

    /// The longest time without a tick at an edge of a service within `window`.
    pub(super) fn tickless(&self) -> Duration {
        self.served.iter().map(|(_, view)| view.tickless).max().unwrap_or_default()
    }
}

/// The uncertainty of an interval's two ends. Each end is counted so that
/// no gap and no overlap is overlooked, so the interval may be shorter by as much.
pub(super) fn edges<'a>(of: Interval, views: impl Iterator<Item = &'a View>) -> Duration {
    let (mut from, mut until) = (Duration::ZERO, Duration::ZERO);
    let width = |view: &View, at: Mono| view.widths.get(&at).copied().unwrap_or_default();
    for view in views {
        from = from.max(width(view, of.from));
        until = until.max(width(view, of.until));
    }
    from.saturating_add(until)
}

/// The unknown times that touch an interval, by which it may be longer.
pub(super) fn beside(of: Interval, unknown: &IntervalSet) -> Duration {
    let beside = unknown.iter().filter(|one| one.until == of.from || one.from == of.until);
    beside.fold(Duration::ZERO, |sum, one| sum.saturating_add(one.length()))
}

/// The lanes of one group, by partition.
pub type Lanes = BTreeMap<PartitionId, Lane>;
