//! Which trials count for statements about future ones, and what each of them showed.
//!
//! A trial that was cut off or not fully observed may have had an unseen gap, and a trial whose
//! fault failed says nothing about that fault. A gap in a trial that does not count is still a gap:
//! the run cannot claim to have none.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Measure;
use super::distribution::ms;
use crate::statistics::correlation;
use crate::timeline::{Cause, Finding, Findings, Timeline};
use tandem_facts::ids::{GroupName, TrialNumber};

/// The longest interval of each trial that had one: one sample per trial, since the intervals of
/// one trial are not independent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Longest {
    /// The number of trials that count.
    pub trials: u64,
    /// Milliseconds in ascending order, one per trial that had such an interval; infinite if it was
    /// still open when its trial ended.
    pub samples_ms: Vec<f64>,
}

/// The trials that ran to their end with every fault in force, in order.
pub(super) fn whole(timeline: &Timeline) -> impl Iterator<Item = TrialNumber> + '_ {
    let failed = timeline.record.incidents.iter().filter(|(_, one)| one.failed.is_some());
    let failed: BTreeSet<_> = failed.map(|(id, _)| id.trial).collect();
    let trials = timeline.record.trials.iter().filter(|trial| trial.recovered.is_some());
    trials.map(|trial| trial.number).filter(move |trial| !failed.contains(trial))
}

fn trials_of(found: &[Finding]) -> BTreeSet<TrialNumber> {
    found.iter().map(|one| one.trial).collect()
}

/// Every trial in order, and whether it had a joint gap; none if the trial does not count.
#[must_use]
pub(super) fn joint_gaps(timeline: &Timeline) -> Vec<(TrialNumber, Option<bool>)> {
    let whole: BTreeSet<_> = whole(timeline).collect();
    let gaps = trials_of(&timeline.joint.gaps);
    let unknown = trials_of(&timeline.joint.unknown_gaps);
    let had = |trial: TrialNumber| match (gaps.contains(&trial), unknown.contains(&trial)) {
        _ if !whole.contains(&trial) => None,
        (true, _) => Some(true),
        (false, true) => None,
        (false, false) => Some(false),
    };
    timeline.record.trials.iter().map(|trial| (trial.number, had(trial.number))).collect()
}

/// The same for a rule that stops a run: a joint gap counts in every trial.
#[must_use]
pub fn joint_gaps_found(timeline: &Timeline) -> Vec<(TrialNumber, Option<bool>)> {
    let gaps = trials_of(&timeline.joint.gaps);
    let found = |(trial, had): (TrialNumber, Option<bool>)| {
        (trial, had.or(gaps.contains(&trial).then_some(true)))
    };
    joint_gaps(timeline).into_iter().map(found).collect()
}

impl Longest {
    /// The samples of one group, for intervals that faults caused; or of all groups together, for
    /// all causes.
    #[must_use]
    pub fn of(timeline: &Timeline, group: Option<&GroupName>, measure: Measure) -> Self {
        let line = group.and_then(|name| timeline.groups.get(name)).map(|line| &line.findings);
        let Some(findings) = group.map_or(Some(&timeline.joint), |_| line) else {
            return Self::default();
        };
        let (found, unknown) = pick(findings, measure);
        let unknown = trials_of(unknown);
        let caused = |one: &&Finding| group.is_none() || matches!(one.cause, Cause::Fault(_));
        let mut longest: BTreeMap<TrialNumber, Duration> = BTreeMap::new();
        for one in found.iter().filter(caused) {
            let length = if one.censored { Duration::MAX } else { one.span.length() };
            let known = longest.entry(one.trial).or_default();
            *known = length.max(*known);
        }
        let (mut trials, mut samples_ms) = (0, Vec::new());
        for trial in whole(timeline).filter(|trial| !unknown.contains(trial)) {
            trials += 1;
            let length = longest.get(&trial);
            let open = |length: &Duration| *length == Duration::MAX;
            samples_ms.extend(length.map(|it| if open(it) { f64::INFINITY } else { ms(*it) }));
        }
        samples_ms.sort_by(f64::total_cmp);
        Self { trials, samples_ms }
    }
}

fn pick(of: &Findings, measure: Measure) -> (&[Finding], &[Finding]) {
    match measure {
        Measure::Gap => (&of.gaps, &of.unknown_gaps),
        Measure::Overlap => (&of.overlaps, &of.unknown_overlaps),
        Measure::Takeover => (&of.takeovers, &of.unknown_gaps),
    }
}

/// How long no member served, for each trial that was fully observed.
pub(super) fn unavailable(timeline: &Timeline, roles: f64) -> Vec<correlation::Trial> {
    let groups: Vec<_> = timeline.groups.values().map(|line| &line.findings).collect();
    let all = groups.iter().copied().chain([&timeline.joint]);
    let unknown: BTreeSet<_> = all.flat_map(|one| trials_of(&one.unknown_gaps)).collect();
    let sums: Vec<_> = groups.iter().map(|one| sums(one)).collect();
    let joint = self::sums(&timeline.joint);
    let whole: BTreeSet<_> = whole(timeline).filter(|trial| !unknown.contains(trial)).collect();
    let trials = timeline.record.trials.iter().filter(|trial| whole.contains(&trial.number));
    let sum = |sums: &BTreeMap<_, f64>, trial| sums.get(&trial).copied().unwrap_or(0.0);
    trials
        .map(|trial| correlation::Trial {
            whole: ms(trial.window.length()) * roles,
            joint: sum(&joint, trial.number),
            groups: sums.iter().map(|sums| sum(sums, trial.number)).collect(),
        })
        .collect()
}

fn sums(of: &Findings) -> BTreeMap<TrialNumber, f64> {
    let mut sums = BTreeMap::new();
    for gap in &of.gaps {
        *sums.entry(gap.trial).or_default() += ms(gap.span.length()) * f64::from(gap.roles.count);
    }
    sums
}
