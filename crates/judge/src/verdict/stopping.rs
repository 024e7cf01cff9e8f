//! Whether the claim for which a run went on holds, and why the run stopped. Computed again from
//! all facts, independent of the run's own decision.

use super::confidence_report::{StoppingOutcome, StoppingReport};
use super::counted::joint_gaps_found;
use super::{Brief, Until};
use crate::statistics::sequential::{Decision, Rule, Series};
use crate::timeline::Timeline;

/// The outcome of the claim, and the upper bound on the probability if it was made. None if the run
/// had a fixed number of trials.
pub(super) fn judge(brief: &Brief, timeline: &Timeline) -> Option<(StoppingReport, Option<f64>)> {
    let until = brief.until?;
    let rule = until.rule()?;
    let mut series = Series::default();
    let mut left = u64::from(until.max);
    for (_, had) in joint_gaps_found(timeline) {
        left = left.saturating_sub(1);
        if let Some(had) = had {
            rule.decide(&mut series, had, left);
        }
    }
    let decision = rule.prospect(&series, left);
    let most = match decision {
        Decision::Claimed { look } => Some(rule.upper(look)),
        Decision::Open | Decision::Hopeless => None,
    };
    Some((report(&until, &rule, &series, decision), most))
}

fn report(until: &Until, rule: &Rule, series: &Series, decision: Decision) -> StoppingReport {
    let Series { trials, hits, .. } = *series;
    let outcome = match decision {
        Decision::Claimed { .. } => StoppingOutcome::Claimed,
        Decision::Open => StoppingOutcome::Open,
        Decision::Hopeless => StoppingOutcome::Hopeless,
    };
    let seen = match hits {
        0 => format!("no joint gap in {trials} trials"),
        hits => format!("a joint gap in {hits} of {trials} trials"),
    };
    let why = match decision {
        Decision::Claimed { .. } => format!("{until} holds: {seen}"),
        Decision::Hopeless => {
            format!("{until} cannot hold within {} trials: {seen}", until.max)
        }
        Decision::Open => format!("{until} is undecided: {seen}"),
    };
    StoppingReport {
        claim: until.to_string(),
        trials_min: until.min,
        trials_max: until.max,
        looks: rule.looks().to_vec(),
        outcome,
        why,
    }
}
