//! The three views of one life: what it was assigned, what it claimed, what it served.
//!
//! - **Assigned**: from `assigned` until `revoked`, `lost`, an assignment without it, or its death.
//! - **Claimed**: from the first instant of a claim up to its exact end, else to the last horizon
//!   that was told. A stopped process still claims; a dead one until its death is confirmed. That
//!   is the side on which an overlap is not overlooked, and the time from asked to confirmed is
//!   stated as uncertainty.
//! - **Served**: a claim less the stops (from the pause being asked for, or else from the last look
//!   that did not find it, until the kernel says that the process goes on), cut where its death was
//!   asked for, less holes of more than 100 ms in the ticks. That is the side on which a gap is not
//!   overlooked. The uncertainty of an end is the time from there to its confirmation; that of a
//!   resumption goes from the last look that did not find it to the first tick after it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::life::{END, LifeLine, Pair, TICKLESS_NS_MAX};
use super::{Interval, IntervalSet};
use tandem_facts::ids::{PartitionId, Term};
use tandem_facts::time::Mono;

/// A view of one life on one partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct View {
    /// When it surely did.
    pub sure: IntervalSet,
    /// When it may have: all that is sure, and all that is unknown.
    pub possible: IntervalSet,
    /// How far from the truth an end or a beginning may lie, where it may.
    pub widths: BTreeMap<Mono, Duration>,
    /// The longest time without a tick at the beginning or the end of a service, which was counted
    /// as served all the same.
    pub tickless: Duration,
}

impl LifeLine {
    /// When the group gave it `partition`.
    pub(super) fn assigned(&self, partition: PartitionId) -> IntervalSet {
        let lived = Interval::new(Mono::ZERO, self.death.map_or(END, |death| death.confirmed));
        let holdings = self.held.get(&partition).into_iter().flatten();
        holdings.map(|holding| holding.intersect(lived)).collect()
    }

    /// Its claims on `partition`, each cut at its death.
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

    /// When it claimed `partition`.
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
        view.settle(&claims, &self.unknown);
        view
    }

    /// When it served `partition`.
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
            // A hole in the ticks beside a hole in what is known is a part of it.
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
        view.settle(&served.into_iter().collect(), &unknown);
        view
    }

    /// How well the end of a piece of service is known.
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

    fn settle(&mut self, seen: &IntervalSet, unknown: &IntervalSet) {
        self.sure = seen.subtract(unknown);
        self.possible = seen.union(unknown);
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
