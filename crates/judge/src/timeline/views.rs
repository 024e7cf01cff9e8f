//! The three views of one life: what it was assigned, what it claimed, and what it served.
//!
//! - **Assigned**: from `assigned` until `revoked`, `lost`, an assignment without it, `leaving`, or
//!   death.
//! - **Claimed**: from the first instant of a claim to its exact end, or else to its last
//!   reported horizon. A stopped process still claims; a dead one claims until its death is
//!   confirmed. So no overlap is overlooked; the time from request to confirmation is reported as
//!   uncertainty.
//! - **Served**: a claim without the stops (from the request of the pause, or from the last check
//!   that did not find it, until the process continues), cut where the death was requested, and
//!   without holes of more than 100 ms in the ticks. So no gap is overlooked. The uncertainty of an
//!   end is the time to its confirmation; that of a resumption, the time from the last check that
//!   did not find it to the first tick after it.
//!
//! Of a life with another clock than the run's, each instant may be off by the error of the
//! comparison: certain is what is certain for so long before and after, and possible what is
//! possible at any instant so near.

use std::collections::BTreeMap;
use std::time::Duration;

use super::life::{END, LifeLine, Pair, TICKLESS_NS_MAX};
use super::{Interval, IntervalSet};
use tandem_facts::ids::{PartitionId, Term};
use tandem_facts::time::Mono;

/// A view of one life on one partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct View {
    /// The times that are certain.
    pub sure: IntervalSet,
    /// The times that are possible: the certain and the unknown ones.
    pub possible: IntervalSet,
    /// The uncertainty of each end and start that has one.
    pub widths: BTreeMap<Mono, Duration>,
    /// The longest time without a tick, at the start or end of a service, that counts as served.
    pub tickless: Duration,
}

impl LifeLine {
    /// When the group assigned `partition` to the life.
    pub(super) fn assigned(&self, partition: PartitionId) -> IntervalSet {
        let lived = Interval::new(Mono::ZERO, self.death.map_or(END, |death| death.confirmed));
        let holdings = self.held.get(&partition).into_iter().flatten();
        holdings.map(|holding| holding.intersect(lived)).collect()
    }

    /// When the life surely held `partition`, so that no other process did: assigned to it, less
    /// its stops, in which the group may give it up, and cut where its death was asked for.
    #[must_use]
    pub(crate) fn holds(&self, partition: PartitionId) -> IntervalSet {
        let lived = Interval::new(Mono::ZERO, self.death.map_or(END, |death| death.asked));
        let holdings = self.held.get(&partition).into_iter().flatten();
        let holdings: IntervalSet = holdings.map(|one| one.intersect(lived)).collect();
        holdings.subtract(&self.stopped()).narrowed(self.error)
    }

    /// The claims on `partition`, each cut at the life's death.
    pub(super) fn terms(
        &self,
        partition: PartitionId,
    ) -> impl Iterator<Item = (Term, Interval)> + '_ {
        let lived = Interval::new(Mono::ZERO, self.death.map_or(END, |death| death.confirmed));
        let claims = self.claims.range((partition, Term(0))..);
        let claims = claims.take_while(move |((on, _), _)| *on == partition);
        let claims = claims.map(move |((_, term), claim)| (*term, claim.intersect(lived)));
        claims.filter(|(_, claim)| !claim.is_empty())
    }

    pub(super) fn claims_on(&self, partition: PartitionId) -> impl Iterator<Item = Interval> + '_ {
        let claims = self.claims.range((partition, Term(0))..);
        let claims = claims.take_while(move |((on, _), _)| *on == partition);
        claims.map(|(_, claim)| *claim).filter(|claim| !claim.is_empty())
    }

    /// When the life claimed `partition`.
    #[must_use]
    pub fn claimed(&self, partition: PartitionId) -> View {
        let lived = Interval::new(Mono::ZERO, self.death.map_or(END, |death| death.confirmed));
        let mut view = View::default();
        let claims: IntervalSet =
            self.claims_on(partition).map(|claim| claim.intersect(lived)).collect();
        if let Some(death) = self.death
            && claims.iter().any(|claim| claim.until == death.confirmed)
        {
            view.widen(death.confirmed, death.width());
        }
        view.settle(&claims, &self.unknown, self.error);
        view
    }

    /// When the life served `partition`.
    pub fn served(&self, partition: PartitionId) -> View {
        let lived = Interval::new(Mono::ZERO, self.death.map_or(END, |death| death.asked));
        let claims: IntervalSet =
            self.claims_on(partition).map(|claim| claim.intersect(lived)).collect();
        let ticks = self.ticks.get(&partition).map_or(&[][..], Vec::as_slice);
        let (mut view, mut served, mut doubtful) = (View::default(), Vec::new(), Vec::new());
        for piece in claims.subtract(&self.stopped()).iter() {
            let near = ticks.partition_point(|run| run.until < piece.from);
            let runs = ticks.iter().skip(near).take_while(|run| run.from < piece.until);
            let holes = tickless(piece, runs.copied());
            // A hole in the ticks next to an unknown time is part of that unknown time.
            let (unsure, empty) =
                holes.iter().partition::<Vec<_>, _>(|hole| self.unknown.touches(*hole));
            doubtful.extend(unsure);
            served.extend(IntervalSet::from(piece).subtract(&empty.into_iter().collect()).iter());
            let first = ticks.get(near).map_or(piece.until, |run| run.from).max(piece.from);
            let silence = first.min(piece.until).since(piece.from);
            if silence <= Duration::from_nanos(TICKLESS_NS_MAX) {
                view.tickless = view.tickless.max(silence);
            }
            let wakings = self.stops.iter().filter_map(|stop| stop.until);
            for waking in wakings.filter(|waking| waking.confirmed == piece.from) {
                view.widen(piece.from, waking.width().saturating_add(silence));
            }
            self.end(piece, ticks, &mut view);
        }
        let unknown = self.unknown.union(&doubtful.into_iter().collect());
        view.settle(&served.into_iter().collect(), &unknown, self.error);
        view
    }

    /// The uncertainty of the end of a piece of service.
    fn end(&self, piece: Interval, ticks: &[Interval], view: &mut View) {
        let before = ticks.partition_point(|run| run.from < piece.until);
        let last = before.checked_sub(1).and_then(|place| ticks.get(place));
        let last = last.map_or(piece.from, |run| run.until).max(piece.from);
        let silence = piece.until.since(last);
        if silence <= Duration::from_nanos(TICKLESS_NS_MAX) {
            view.tickless = view.tickless.max(silence);
        }
        let stops = self.stops.iter().map(|stop| stop.began);
        for end in stops.chain(self.death).filter(|end| end.asked == piece.until) {
            view.widen(end.asked, end.width());
        }
    }
}

impl Pair {
    fn width(self) -> Duration {
        self.confirmed.since(self.asked)
    }
}

impl View {
    fn widen(&mut self, at: Mono, width: Duration) {
        let known = self.widths.entry(at).or_default();
        *known = width.max(*known);
    }

    fn settle(&mut self, seen: &IntervalSet, unknown: &IntervalSet, error: Duration) {
        self.sure = seen.subtract(unknown);
        self.possible = seen.union(unknown);
        if !error.is_zero() {
            self.sure = self.sure.narrowed(error);
            self.possible = self.possible.widened(error);
        }
    }
}

/// The holes in the ticks of a piece of service that are too long to be service.
fn tickless(piece: Interval, runs: impl Iterator<Item = Interval>) -> IntervalSet {
    let end = Interval::new(piece.until, piece.until);
    let mut last = piece.from;
    let mut holes = Vec::new();
    for run in runs.chain([end]) {
        if run.from.0 > last.0.saturating_add(TICKLESS_NS_MAX) {
            holes.push(Interval::new(last, run.from));
        }
        last = last.max(run.until);
    }
    holes.into_iter().collect()
}
