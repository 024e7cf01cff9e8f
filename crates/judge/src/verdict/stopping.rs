//! Whether the claim holds that a run went on for, and why it stopped where it did: judged again
//! from all facts, whatever the run itself believed.

use super::confidence_report::{StoppingOutcome, StoppingReport};
use super::counted::joint_gaps_found;
use super::{Brief, Until};
use crate::statistics::sequential::{Decision, Rule, Standing};
use crate::timeline::Timeline;

/// What became of the claim, and the most that the probability can be where it was made. Nothing
/// where the run was of a fixed number of trials.
pub(super) fn tell(brief: &Brief, timeline: &Timeline) -> Option<(StoppingReport, Option<f64>)> {
    let until = brief.until?;
    let rule = until.rule()?;
    let mut standing = Standing::default();
    let mut left = u64::from(until.max);
    for (_, had) in joint_gaps_found(timeline) {
        left = left.saturating_sub(1);
        if let Some(had) = had {
            rule.decide(&mut standing, had, left);
        }
    }
    let decision = rule.prospect(&standing, left);
    let most = match decision {
        Decision::Claimed { look } => Some(rule.upper(look)),
        Decision::Open | Decision::Hopeless => None,
    };
    Some((report(&until, &rule, &standing, decision), most))
}

fn report(until: &Until, rule: &Rule, standing: &Standing, decision: Decision) -> StoppingReport {
    let Standing { trials, hits, .. } = *standing;
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
        Decision::Open => format!("{until} could not be told yet: {seen}"),
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
