//! Limits what the lanes of a large run show, so that the page opens at once. It first leaves out
//! service without findings, then whole trials, those with the least to see first. Findings of a
//! shown trial are never left out, and the tables count everything.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Subject;
use super::chart::{Chart, Marks, Sublane};
use super::html::count;
use crate::ids::TrialNumber;
use crate::timeline::{Interval, IntervalSet};

/// The limits of a page.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Intervals of service: about 15 bytes each.
    pub services: usize,
    /// Findings: about 45 bytes each.
    pub findings: usize,
    /// Stalls of the host: about 30 bytes each.
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
    /// The stalls that are shown, in order.
    stalls: Vec<Interval>,
    /// The number of all stalls in the shown time.
    stalls_all: usize,
}

/// Which intervals of service are shown.
enum Services {
    All,
    /// Those of trials with findings on the lane.
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

    /// The stalls that the lanes show.
    pub(super) fn stalls(&self) -> &[Interval] {
        &self.stalls
    }

    /// Chooses the stalls in the shown trials; the longest if not all fit.
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

    /// The shown time: everything from the first trial to the last, or only the shown trials.
    fn shown_windows(&self) -> IntervalSet {
        if self.shown.len() == self.trials {
            return self.window.into();
        }
        self.shown.iter().filter_map(|it| self.windows.get(it)).copied().collect()
    }

    /// The time in which a lane shows service.
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

    /// Sentences about what was left out.
    pub(super) fn describe(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let left = self.trials - self.shown.len();
        if left > 0 {
            sentences.push(format!(
                "The lanes show {} of {}, those with the most to see; the tables count all of \
                 them.",
                self.shown.len(),
                count(self.trials, "trial")
            ));
        }
        if self.stalls.len() < self.stalls_all {
            sentences.push(format!(
                "The lanes show the {} longest of {} of the host; result.json has all of them.",
                self.stalls.len(),
                count(self.stalls_all, "stall")
            ));
        }
        match self.services {
            Services::All => {}
            Services::Found => sentences.push(
                "Service is drawn only on lanes and in trials with findings; a plain lane was \
                 served."
                    .to_owned(),
            ),
            Services::None => sentences.push(
                "Service is not drawn, because there is too much of it. A plain lane was served."
                    .to_owned(),
            ),
        }
        sentences
    }
}

/// How much there is to see in a trial; trials with more are shown first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Weight {
    joint: usize,
    unknown: usize,
    longest: Duration,
    all: usize,
}

/// The trials whose findings fit: those with joint gaps first, then those with unknown time, then
/// by their longest gap. At least one is shown.
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
