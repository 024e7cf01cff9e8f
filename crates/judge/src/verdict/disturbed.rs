//! Disturbed trials: the rule that an experiment states before it runs, and its consequences.
//!
//! A trial is disturbed if the host kept the instrument or a member from running for longer than
//! the experiment allows, independent of the outcome. Disturbed trials are judged separately: the
//! report shows the verdict on each alone, and the run's verdict is that of the others. It cannot
//! be pass if more than a third of the trials are disturbed, or if disturbed trials fail more often
//! than chance explains: then they may have been left out for their outcome rather than for the
//! host.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compute::{conclude, rulings};
use super::distribution::ms;
use super::disturbed_report::{DisturbedReport, DisturbedTrial};
use super::ruling::Verdict;
use super::{Brief, Measure};
use crate::roster::{Mode, Roster};
use crate::statistics::fisher;
use crate::timeline::{Hindrance, RunRecord, Timeline, worst};
use tandem_facts::ids::{GroupName, TrialNumber};
use tandem_facts::time::Span;

/// At or below this p-value, the disturbed trials fail more often than chance explains.
pub const ALPHA: f64 = 0.05;
/// A p-value that exceeds the limit only by rounding counts as equal.
const ROUNDED: f64 = 1.0 + 1e-9;
/// If more than one trial in this many is disturbed, the verdict cannot be pass.
const SHARE_MAX: usize = 3;

/// The rule that says when a trial is disturbed and how many are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Disturbed {
    /// The host kept the instrument or a member from running for longer than this.
    pub stall: Span,
    /// The greatest number of further trials that replace disturbed ones.
    pub replace: u32,
}

impl Disturbed {
    /// The number of further trials for this many disturbed ones.
    #[must_use]
    pub fn replacements(self, disturbed: usize) -> u32 {
        u32::try_from(disturbed).unwrap_or(u32::MAX).min(self.replace)
    }
}

/// Whether a disturbance excuses intervals of this kind in a group of this mode.
fn excuses(mode: Mode, measure: Measure) -> bool {
    match measure {
        Measure::Gap | Measure::Takeover => true,
        // A mode that rules out two leaders rules them out on a stalling host, too.
        Measure::Overlap => !mode.forbids_overlap(),
    }
}

/// The disturbed trials of a run, each with its worst hindrance.
fn disturbed(brief: &Brief, record: &RunRecord) -> BTreeMap<TrialNumber, Hindrance> {
    let Some(rule) = brief.disturbed else { return BTreeMap::new() };
    let mut found = worst(&record.trials, &record.lateness, &record.processors);
    found.retain(|_, one| one.imposed > rule.stall.get());
    found
}

/// The part of a run that counts: all but the disturbed trials.
#[must_use]
pub fn undisturbed<'a>(
    brief: &Brief,
    roster: impl Into<Roster>,
    timeline: &'a Timeline,
) -> Cow<'a, Timeline> {
    without(&disturbed(brief, &timeline.record), &roster.into(), timeline)
}

fn without<'a>(
    disturbed: &BTreeMap<TrialNumber, Hindrance>,
    roster: &Roster,
    timeline: &'a Timeline,
) -> Cow<'a, Timeline> {
    if disturbed.is_empty() {
        return Cow::Borrowed(timeline);
    }
    let left_out: BTreeSet<_> = disturbed.keys().copied().collect();
    let bound = |name: &GroupName| {
        roster.groups.get(name).is_some_and(|group| !excuses(group.mode, Measure::Overlap))
    };
    Cow::Owned(timeline.without(&left_out, bound))
}

/// The part of a run that counts, and the report on the rest.
pub(super) struct Split<'a> {
    pub(super) kept: Cow<'a, Timeline>,
    pub(super) report: Option<DisturbedReport>,
    /// Why the verdict cannot be pass, even if the undisturbed trials pass.
    pub(super) doubts: Vec<String>,
}

impl<'a> Split<'a> {
    pub(super) fn of(brief: &Brief, roster: &Roster, timeline: &'a Timeline) -> Self {
        let Some(rule) = brief.disturbed else {
            return Self { kept: Cow::Borrowed(timeline), report: None, doubts: Vec::new() };
        };
        let found = disturbed(brief, &timeline.record);
        let report = report(rule, (brief, roster), timeline, &found);
        let doubts = doubts(&report);
        Self { kept: without(&found, roster, timeline), report: Some(report), doubts }
    }
}

fn report(
    rule: Disturbed,
    (brief, roster): (&Brief, &Roster),
    timeline: &Timeline,
    found: &BTreeMap<TrialNumber, Hindrance>,
) -> DisturbedReport {
    let (verdict_all, reasons_all) = judge(brief, roster, timeline, true);
    // Without disturbed trials, no trial needs to be judged alone.
    let alone = if found.is_empty() { BTreeMap::new() } else { timeline.by_trial() };
    let one = Brief { trials: 1, until: None, ..brief.clone() };
    let alone = alone.into_iter().map(|(trial, it)| (trial, judge(&one, roster, &it, false)));
    let alone: BTreeMap<_, _> = alone.collect();
    let failed = |disturbed: bool| {
        let failed = alone.iter().filter(|(_, (outcome, _))| *outcome == Verdict::Fail);
        count(failed.filter(|(trial, _)| found.contains_key(trial) == disturbed).count())
    };
    let all = timeline.record.trials.len();
    let (of, undisturbed) = (count(found.len()), count(all.saturating_sub(found.len())));
    let (failed, undisturbed_failed) = (failed(true), failed(false));
    let trials = found.iter().map(|(trial, by)| {
        let (outcome, reasons) =
            alone.get(trial).cloned().unwrap_or((Verdict::Unknown, Vec::new()));
        DisturbedTrial {
            trial: *trial,
            outcome,
            reasons,
            stalled_ms: ms(by.imposed),
            late_ms: ms(by.late),
            life: by.life.clone(),
        }
    });
    DisturbedReport {
        stall_ms: ms(rule.stall.get()),
        replace: rule.replace,
        replaced: u32::try_from(all).unwrap_or(u32::MAX).saturating_sub(brief.trials),
        trials: trials.collect(),
        failed,
        undisturbed,
        undisturbed_failed,
        p_value: (of > 0 && undisturbed > 0)
            .then(|| fisher::more_often(failed, of, undisturbed_failed, undisturbed)),
        alpha: ALPHA,
        verdict_all,
        reasons_all,
    }
}

/// The verdict on some trials, and the reasons if it is not pass; with `whole`, the end of the run
/// counts, too.
fn judge(
    brief: &Brief,
    roster: &Roster,
    timeline: &Timeline,
    whole: bool,
) -> (Verdict, Vec<String>) {
    let (objective, assertions) = rulings(brief, roster, timeline);
    conclude(&timeline.record, objective.iter().chain(&assertions), whole)
}

fn doubts(of: &DisturbedReport) -> Vec<String> {
    let (disturbed, all) = (of.trials.len(), of.all());
    let mut doubts = Vec::new();
    if count(disturbed * SHARE_MAX) > all {
        doubts.push(format!(
            "{disturbed} of {all} trials were disturbed by the host: more than a third."
        ));
    }
    if let Some(p) = of.p_value.filter(|p| *p <= of.alpha * ROUNDED) {
        let (failed, others) = (of.failed, of.undisturbed_failed);
        doubts.push(format!(
            "{failed} of {disturbed} disturbed trials failed, and {others} of {} others: chance \
             does not explain that (p {p:.3}).",
            of.undisturbed
        ));
    }
    doubts
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
