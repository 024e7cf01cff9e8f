//! Recovery: every trial ended with every group settled again, and without an open interval.

use std::collections::BTreeSet;

use super::Brief;
use super::distribution::float;
use super::ruling::{Ruling, Unit, Verdict};
use crate::timeline::{Finding, Findings, Timeline, Trial};
use tandem_facts::ids::TrialNumber;

/// The ruling: as many trials recovered as were requested.
pub(super) fn judge(brief: &Brief, timeline: &Timeline) -> Ruling {
    let trials = &timeline.record.trials;
    let open: BTreeSet<_> = censored(timeline).map(|finding| finding.trial).collect();
    let open = |trial: &Trial| open.contains(&trial.number);
    let recovered = |trial: &&Trial| trial.recovered == Some(true) && !open(trial);
    let count = u64::try_from(trials.iter().filter(recovered).count()).unwrap_or(u64::MAX);
    // A trial that was cut off had no time to recover, so its recovery is unknown.
    let failed = trials.iter().find(|trial| trial.recovered.is_some() && !recovered(trial));
    // A run that goes on for a claim may stop before its greatest number of trials.
    let wanted = brief.until.map_or(brief.trials, |until| until.min);
    let outcome = match failed {
        Some(_) => Verdict::Fail,
        None if count < u64::from(wanted) || count == 0 => Verdict::Unknown,
        None => Verdict::Pass,
    };
    let why = match (outcome, failed) {
        (Verdict::Fail, Some(trial)) if trial.recovered == Some(true) => {
            Some(format!("{} ended with a gap or an overlap still open.", name(trial.number)))
        }
        (Verdict::Fail, Some(trial)) => Some(format!("{} did not recover.", name(trial.number))),
        (Verdict::Fail | Verdict::Pass, _) => None,
        (Verdict::Unknown, _) => {
            let which = if brief.disturbed.is_some() { "undisturbed trials" } else { "trials" };
            Some(format!("{count} of {wanted} {which} were played to their end."))
        }
    };
    Ruling {
        text: format!("trials recovered >= {wanted}"),
        group: None,
        measured: Some(float(count)),
        limit: f64::from(wanted),
        unit: Unit::Count,
        outcome,
        why,
    }
}

fn name(trial: TrialNumber) -> String {
    format!("Trial {trial}")
}

/// All intervals that were still open when their trial ended.
pub(super) fn censored(timeline: &Timeline) -> impl Iterator<Item = &Finding> {
    let groups = timeline.groups.values().map(|line| &line.findings);
    let all = groups.flat_map(|of: &Findings| of.gaps.iter().chain(&of.overlaps));
    all.filter(|finding| finding.censored)
}
