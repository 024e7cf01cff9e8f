//! What a page leaves out of its lanes where a run is large, so that it opens at once: first who
//! served where nothing was found, then whole trials, those with the least to see first. What was
//! found in a trial that is shown is never left out, and the tables count everything.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Subject;
use super::chart::{Chart, Marks, Sublane};
use super::html::count;
use crate::ids::TrialNumber;
use crate::timeline::{Interval, IntervalSet};

/// How much a page holds.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Pieces of service: some 15 bytes each.
    pub services: usize,
    /// Findings: some 45 bytes each.
    pub findings: usize,
    /// Stalls of the host: some 30 bytes each.
    pub stalls: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { services: 150_000, findings: 100_000, stalls: 20_000 }
    }
}

/// What is left out.
pub(super) struct Thinning {
    window: Interval,
    shown: BTreeSet<TrialNumber>,
    trials: usize,
    windows: BTreeMap<TrialNumber, Interval>,
    services: Services,
    /// In their order, those that are shown.
    stalls: Vec<Interval>,
    /// How many there were to be shown.
    stalls_all: usize,
}

/// Which pieces of service are kept.
enum Services {
    All,
    /// Those of trials in which something was found on the lane.
    Found,
    None,
}

impl Thinning {
    pub(super) fn of(subject: &Subject<'_>, chart: &Chart<'_>, room: Room) -> Self {
        let trials = &subject.timeline.record.trials;
        let mut thinning = Self {
            window: chart.window,
            shown: trials_within(subject, chart, room.findings),
            trials: trials.len(),
            windows: trials.iter().map(|trial| (trial.number, trial.window)).collect(),
            services: Services::All,
            stalls: Vec::new(),
            stalls_all: 0,
        };
        thinning.choose_stalls(subject, room.stalls);
        for services in [Services::All, Services::Found, Services::None] {
            thinning.services = services;
            let lanes = chart.groups.iter().flat_map(|group| group.lanes.values());
            let pieces = |lane: &Sublane<'_>| {
                let kept = thinning.services(lane);
                let served = lane.lane.served.iter();
                served.map(|(_, view)| view.sure.intersect(&kept).iter().count()).sum::<usize>()
            };
            if lanes.map(pieces).sum::<usize>() <= room.services {
                break;
            }
        }
        thinning
    }

    /// Whether the lanes show a trial.
    pub(super) fn shows(&self, trial: TrialNumber) -> bool {
        self.shown.contains(&trial)
    }

    /// When the host stalled, as far as lanes show it.
    pub(super) fn stalls(&self) -> &[Interval] {
        &self.stalls
    }

    /// Those in what is shown; the longest of them, where they do not fit.
    fn choose_stalls(&mut self, subject: &Subject<'_>, room: usize) {
        let shown = self.shown_windows();
        let stalls = subject.timeline.record.stalls.iter().copied();
        let mut kept: Vec<_> = stalls.filter(|stall| shown.touches(*stall)).collect();
        self.stalls_all = kept.len();
        kept.sort_by_key(|stall| (Reverse(stall.length()), *stall));
        kept.truncate(room);
        kept.sort_unstable();
        self.stalls = kept;
    }

    /// All there is from the first trial to the last, unless some are left out.
    fn shown_windows(&self) -> IntervalSet {
        if self.shown.len() == self.trials {
            return self.window.into();
        }
        self.shown.iter().filter_map(|it| self.windows.get(it)).copied().collect()
    }

    /// When a lane shows who served.
    pub(super) fn services(&self, lane: &Sublane<'_>) -> IntervalSet {
        let marks = &lane.marks;
        match self.services {
            Services::All => self.shown_windows(),
            Services::Found => {
                let found = marks.gaps.iter().chain(&marks.overlaps).chain(&marks.unknown);
                let found: BTreeSet<_> = found.map(|one| one.trial).collect();
                let both = self.shown.intersection(&found);
                both.filter_map(|trial| self.windows.get(trial)).copied().collect()
            }
            Services::None => IntervalSet::default(),
        }
    }

    /// What was left out, as sentences.
    pub(super) fn describe(&self) -> Vec<String> {
        let mut told = Vec::new();
        let left = self.trials - self.shown.len();
        if left > 0 {
            told.push(format!(
                "The lanes show {} of {}, those with the most to see; the tables count all of \
                 them.",
                self.shown.len(),
                count(self.trials, "trial")
            ));
        }
        if self.stalls.len() < self.stalls_all {
            told.push(format!(
                "The lanes show the {} longest of {} of the host; result.json has all of them.",
                self.stalls.len(),
                count(self.stalls_all, "stall")
            ));
        }
        match self.services {
            Services::All => {}
            Services::Found => told.push(
                "Who served is drawn only on lanes and in trials in which something was found; \
                 elsewhere a lane is plain, and somebody served it."
                    .to_owned(),
            ),
            Services::None => told.push(
                "Who served is not drawn: there is too much of it. Where a lane is plain, somebody \
                 served it."
                    .to_owned(),
            ),
        }
        told
    }
}

/// What there is to see in a trial; the greater is shown before the lesser.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Weight {
    joint: usize,
    unknown: usize,
    longest: Duration,
    all: usize,
}

/// The trials whose findings fit: those with joint gaps first, then with something unknown, then by
/// their longest gap. One is shown in any case.
fn trials_within(subject: &Subject<'_>, chart: &Chart<'_>, room: usize) -> BTreeSet<TrialNumber> {
    let trials = subject.timeline.record.trials.iter();
    let mut weights: BTreeMap<TrialNumber, Weight> =
        trials.map(|trial| (trial.number, Weight::default())).collect();
    let mut add = |marks: &Marks<'_>, joint: bool| {
        for gap in &marks.gaps {
            let weight = weights.entry(gap.trial).or_default();
            weight.joint += usize::from(joint);
            weight.longest = weight.longest.max(gap.span.length());
        }
        for unknown in &marks.unknown {
            weights.entry(unknown.trial).or_default().unknown += 1;
        }
        for one in marks.gaps.iter().chain(&marks.overlaps).chain(&marks.unknown) {
            weights.entry(one.trial).or_default().all += 1;
        }
    };
    chart.folds.iter().for_each(|fold| add(&fold.joint, true));
    let lanes = chart.groups.iter().flat_map(|group| group.lanes.values());
    lanes.for_each(|lane| add(&lane.marks, false));
    let mut order: Vec<_> = weights.into_iter().collect();
    order.sort_by_key(|(trial, weight)| (Reverse(*weight), *trial));
    let (mut left, mut shown) = (room, BTreeSet::new());
    for (trial, weight) in order {
        if weight.all > left && !shown.is_empty() {
            break;
        }
        left = left.saturating_sub(weight.all);
        shown.insert(trial);
    }
    shown
}
