//! What a page leaves out of its lanes where a run is large, so that it opens at once: first who
//! served where nothing was found, then whole trials, those with the least to see first. What was
//! found in a trial that is shown is never left out, and the tables count everything.

use std::collections::{BTreeMap, BTreeSet};

use super::Subject;
use super::html::count;
use super::scene::{Scene, Sublane};
use crate::ids::TrialNumber;
use crate::timeline::{Finding, Interval, IntervalSet};

/// How many pieces of service a page holds: some 15 bytes each.
const SERVICES_MAX: usize = 150_000;
/// How many findings: some 45 bytes each.
const FINDINGS_MAX: usize = 100_000;

/// What is left out.
pub(super) struct Thinning {
    window: Interval,
    shown: BTreeSet<TrialNumber>,
    trials: usize,
    windows: BTreeMap<TrialNumber, Interval>,
    services: Services,
}

/// Which pieces of service are kept.
enum Services {
    All,
    /// Those of trials in which something was found on the lane.
    Found,
    None,
}

impl Thinning {
    pub(super) fn of(subject: &Subject<'_>, scene: &Scene<'_>) -> Self {
        let trials = &subject.timeline.record.trials;
        let mut thinning = Self {
            window: scene.window,
            shown: trials_within(subject, scene),
            trials: trials.len(),
            windows: trials.iter().map(|trial| (trial.number, trial.window)).collect(),
            services: Services::All,
        };
        for services in [Services::All, Services::Found, Services::None] {
            thinning.services = services;
            let lanes = scene.groups.iter().flat_map(|group| group.lanes.values());
            let pieces = |lane: &Sublane<'_>| {
                let kept = thinning.services(lane);
                let served = lane.lane.served.iter();
                served.map(|(_, view)| view.sure.intersect(&kept).iter().count()).sum::<usize>()
            };
            if lanes.map(pieces).sum::<usize>() <= SERVICES_MAX {
                break;
            }
        }
        thinning
    }

    /// Whether the lanes show a trial.
    pub(super) fn shows(&self, trial: TrialNumber) -> bool {
        self.shown.contains(&trial)
    }

    /// When a lane shows who served.
    pub(super) fn services(&self, lane: &Sublane<'_>) -> IntervalSet {
        let marks = &lane.marks;
        match self.services {
            Services::All if self.shown.len() == self.trials => self.window.into(),
            Services::All => {
                self.shown.iter().filter_map(|it| self.windows.get(it)).copied().collect()
            }
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
    pub(super) fn told(&self) -> Vec<String> {
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

/// The trials whose findings fit: those with a joint gap first, then with something unknown, then
/// by their longest gap.
fn trials_within(subject: &Subject<'_>, scene: &Scene<'_>) -> BTreeSet<TrialNumber> {
    let mut weights: BTreeMap<TrialNumber, (usize, usize, std::time::Duration, usize)> =
        subject.timeline.record.trials.iter().map(|it| (it.number, Default::default())).collect();
    let mut each =
        |found: &[&Finding], add: fn(&mut (usize, usize, std::time::Duration, usize), &Finding)| {
            for one in found {
                let weight = weights.entry(one.trial).or_default();
                weight.3 += 1;
                add(weight, one);
            }
        };
    for fold in &scene.folds {
        each(&fold.joint.gaps, |weight, _| weight.0 += 1);
        each(&fold.joint.unknown, |weight, _| weight.1 += 1);
    }
    for lane in scene.groups.iter().flat_map(|group| group.lanes.values()) {
        each(&lane.marks.gaps, |weight, one| weight.2 = weight.2.max(one.span.length()));
        each(&lane.marks.unknown, |weight, _| weight.1 += 1);
        each(&lane.marks.overlaps, |_, _| {});
    }
    let mut order: Vec<_> = weights.into_iter().collect();
    order.sort_by_key(|(trial, (joint, unknown, gap, _))| {
        (std::cmp::Reverse((*joint, *unknown, *gap)), *trial)
    });
    let mut left = FINDINGS_MAX;
    let mut shown = BTreeSet::new();
    for (trial, (_, _, _, found)) in order {
        if found > left && !shown.is_empty() {
            break;
        }
        left = left.saturating_sub(found);
        shown.insert(trial);
    }
    shown
}
