//! The instruments and their series, read from the live fold at each collection.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{AsyncInstrument, Histogram, Meter};

use super::names;
use super::names_metrics as metrics;
use crate::fold::Fold;
use crate::ids::{GroupName, RoleIndex};
use crate::live::{Event, Live, Place, Totals};
use crate::time::Mono;
use crate::topology::Plan;

/// The most series of an instrument, roles times groups. The library silently merges series beyond
/// 2,000.
pub const SERIES_MAX: usize = 1_500;

/// The bucket boundaries, in seconds.
const EDGES: [f64; 16] =
    [0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0, 300.0];

/// The state that the collection reads.
#[derive(Debug)]
pub(super) struct Board {
    fold: Mutex<Arc<Fold>>,
    kinds: Mutex<BTreeSet<String>>,
    lost: AtomicU64,
    late: AtomicU64,
}

impl Board {
    pub(super) fn new(plan: &Plan) -> Arc<Self> {
        // Before there is a run, all counters are 0.
        let fold = Mutex::new(Arc::new(Fold::new(Live::new(plan))));
        Arc::new(Self {
            fold,
            kinds: Mutex::default(),
            lost: AtomicU64::new(0),
            late: AtomicU64::new(0),
        })
    }

    fn held(&self) -> MutexGuard<'_, Arc<Fold>> {
        self.fold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fold that is read.
    pub(super) fn fold(&self) -> Arc<Fold> {
        Arc::clone(&self.held())
    }

    /// Reads `fold` from now on.
    pub(super) fn read(&self, fold: &Arc<Fold>) {
        *self.held() = Arc::clone(fold);
    }

    /// Counts facts that were missed.
    pub(super) fn lose(&self, facts: u64) {
        self.lost.fetch_add(facts, Ordering::Relaxed);
    }

    /// How many facts were missed.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// One role, or all roles without a series of their own, in one group or in all together.
#[derive(Debug, Clone)]
struct Series {
    group: Option<GroupName>,
    /// One role of each class of equal roles, and the size of that class.
    roles: Vec<(RoleIndex, u32)>,
    labels: Vec<KeyValue>,
}

/// The series of a plan, by role and group, and by role. Returns also how many roles are merged.
fn series(plan: &Plan) -> (Vec<Series>, u32) {
    let (all, room) = (plan.roles.len(), SERIES_MAX / plan.groups.len().max(1));
    let room = u32::try_from(room).unwrap_or(u32::MAX);
    // One series is reserved for the others.
    let own = if all <= room { all } else { room.saturating_sub(1) };
    let named = plan.roles.indices().zip(plan.roles.names()).filter(|(role, _)| role.0 < own);
    let mut kinds: Vec<_> = named.map(|(role, name)| (name.to_string(), vec![(role, 1)])).collect();
    if own < all {
        let merged = plan.classes().filter_map(|roles| {
            let first = roles.roles().find(|role| role.0 >= own)?;
            Some((first, roles.count - (first.0 - roles.first.0) / roles.step))
        });
        kinds.push((metrics::OTHER.to_owned(), merged.collect()));
    }
    let groups = plan.groups.keys().map(Some).chain([None]);
    let series = groups.flat_map(|group| {
        kinds.iter().map(move |(name, roles)| {
            let role = KeyValue::new(names::ROLE, name.clone());
            let group_label = group.map(|group| KeyValue::new(names::GROUP, group.to_string()));
            let labels = [role].into_iter().chain(group_label).collect();
            Series { group: group.cloned(), roles: roles.clone(), labels }
        })
    });
    (series.collect(), all - own)
}

impl Series {
    fn sum(&self, live: &Live, of: impl Fn(&Totals) -> Duration) -> f64 {
        let all = self.roles.iter().map(|(role, count)| {
            of(&live.totals(self.group.as_ref(), *role)).saturating_mul(*count)
        });
        all.fold(Duration::ZERO, Duration::saturating_add).as_secs_f64()
    }

    fn count(&self, live: &Live) -> u64 {
        let all = self.roles.iter().map(|(role, count)| {
            let takeovers = live.totals(self.group.as_ref(), *role).takeovers;
            takeovers.saturating_mul(u64::from(*count))
        });
        all.fold(0, u64::saturating_add)
    }

    /// The minimum over merged roles, so that a role without a leader shows.
    fn leaders(&self, live: &Live) -> u64 {
        let leaders = |(role, _): &(RoleIndex, u32)| match &self.group {
            Some(group) => live.leaders(group, *role).0.len(),
            None => live.led(*role),
        };
        let fewest = self.roles.iter().map(leaders).min().unwrap_or_default();
        u64::try_from(fewest).unwrap_or(u64::MAX)
    }
}

/// The histograms of events, by group.
#[derive(Debug, Clone)]
pub(super) struct Lengths {
    gap: Histogram<f64>,
    overlap: Histogram<f64>,
    takeover: Histogram<f64>,
}

impl Lengths {
    /// Records an event, once per affected role.
    pub(super) fn record(&self, board: &Board, event: &Event) {
        let (histogram, place, span) = match event {
            Event::Gap(place, span, _) => (&self.gap, place, span),
            Event::Overlap(place, span) => (&self.overlap, place, span),
            Event::Takeover(place, span) => (&self.takeover, place, span),
            Event::Late { facts, .. } => {
                board.late.fetch_add(*facts, Ordering::Relaxed);
                return;
            }
            Event::FaultOver { .. }
            | Event::Leaders { .. }
            | Event::Unled { .. }
            | Event::Health { .. }
            | Event::Settled(_)
            | Event::Changed(_)
            | Event::GapBegan(..) => return,
        };
        let Place { group: Some(group), roles } = place else { return };
        let labels = [KeyValue::new(names::GROUP, group.to_string())];
        for _ in 0..roles.count {
            histogram.record(span.length().as_secs_f64(), &labels);
        }
    }
}

/// Creates all instruments. Returns also how many roles are merged into one series for lack of
/// room.
pub(super) fn make(meter: &Meter, plan: &Plan, board: &Arc<Board>) -> (Lengths, u32) {
    let (all, merged) = series(plan);
    let (joint, each): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| one.group.is_none());
    let maker = Maker { meter, board };
    maker.gauge(metrics::LEADERS, &each);
    maker.gauge(metrics::JOINT_LEADERS, &joint);
    maker.seconds(metrics::UNAVAILABLE, &each, |totals| totals.unavailable);
    maker.seconds(metrics::OVERLAP, &each, |totals| totals.overlap);
    maker.seconds(metrics::UNKNOWN, &each, |totals| totals.unknown);
    maker.seconds(metrics::JOINT_UNAVAILABLE, &joint, |totals| totals.unavailable);
    maker.transitions(&each);
    maker.faults();
    maker.own();
    let lengths = Lengths {
        gap: maker.histogram(metrics::GAP),
        overlap: maker.histogram(metrics::OVERLAP_LENGTH),
        takeover: maker.histogram(metrics::TAKEOVER),
    };
    (lengths, merged)
}

struct Maker<'a> {
    meter: &'a Meter,
    board: &'a Arc<Board>,
}

impl Maker<'_> {
    /// A callback that observes all series under one lock.
    fn each<T>(
        &self,
        series: &[Series],
        read: impl Fn(&Series, &Live) -> T + Send + Sync + 'static,
    ) -> impl Fn(&dyn AsyncInstrument<T>) + Send + Sync + 'static {
        let (board, series) = (Arc::clone(self.board), series.to_vec());
        move |observer| {
            board.fold().look(|live| {
                series.iter().for_each(|one| observer.observe(read(one, live), &one.labels));
            });
        }
    }

    fn gauge(&self, what: metrics::Described, series: &[Series]) {
        let builder = self.meter.u64_observable_gauge(what.name).with_unit(what.unit);
        let builder = builder.with_description(what.says);
        builder.with_callback(self.each(series, Series::leaders)).build();
    }

    fn seconds(
        &self,
        what: metrics::Described,
        series: &[Series],
        of: impl Fn(&Totals) -> Duration + Copy + Send + Sync + 'static,
    ) {
        let builder = self.meter.f64_observable_counter(what.name).with_unit(what.unit);
        let builder = builder.with_description(what.says);
        let read = move |one: &Series, live: &Live| one.sum(live, of);
        builder.with_callback(self.each(series, read)).build();
    }

    fn transitions(&self, series: &[Series]) {
        let what = metrics::TRANSITIONS;
        let builder = self.meter.u64_observable_counter(what.name).with_unit(what.unit);
        let builder = builder.with_description(what.says);
        builder.with_callback(self.each(series, Series::count)).build();
    }

    /// By kind; a kind that was in force once stays, at 0.
    fn faults(&self) {
        let (what, board) = (metrics::FAULTS, Arc::clone(self.board));
        let builder = self.meter.u64_observable_gauge(what.name).with_unit(what.unit);
        let builder = builder.with_description(what.says).with_callback(move |observer| {
            let open = |live: &Live| -> Vec<String> {
                live.faults().map(|(_, window)| window.kind.clone()).collect()
            };
            let open = board.fold().look(open);
            let mut kinds = board.kinds.lock().unwrap_or_else(PoisonError::into_inner);
            kinds.extend(open.iter().cloned());
            for kind in &*kinds {
                let count = open.iter().filter(|one| *one == kind).count();
                let labels = [KeyValue::new(names::FAULT_KIND, kind.clone())];
                observer.observe(u64::try_from(count).unwrap_or(u64::MAX), &labels);
            }
        });
        builder.build();
    }

    fn own(&self) {
        self.counter(metrics::LOST, |board| &board.lost);
        self.counter(metrics::LATE, |board| &board.late);
        let (what, board) = (metrics::LAG, Arc::clone(self.board));
        let builder = self.meter.f64_observable_gauge(what.name).with_unit(what.unit);
        let builder = builder.with_description(what.says).with_callback(move |observer| {
            let settled = board.fold().look(Live::settled);
            if settled > Mono::ZERO {
                observer.observe(Mono::now().since(settled).as_secs_f64(), &[]);
            }
        });
        builder.build();
    }

    fn counter(
        &self,
        what: metrics::Described,
        read: impl Fn(&Board) -> &AtomicU64 + Send + Sync + 'static,
    ) {
        let board = Arc::clone(self.board);
        let builder = self.meter.u64_observable_counter(what.name).with_unit(what.unit);
        let builder = builder.with_description(what.says).with_callback(move |observer| {
            observer.observe(read(&board).load(Ordering::Relaxed), &[]);
        });
        builder.build();
    }

    fn histogram(&self, what: metrics::Described) -> Histogram<f64> {
        let builder = self.meter.f64_histogram(what.name).with_unit(what.unit);
        builder.with_description(what.says).with_boundaries(EDGES.to_vec()).build()
    }
}
