//! Reads the number of trials, and checks that a claim can be reached.

use crate::chaos::spec::DisturbedSpec;
use crate::chaos::{Disturbance, Sequel, Trials};
use crate::statistics::binomial::trials_needed;
use crate::time::{LATE_LEAST, Span};
use crate::verdict::Until;
use crate::yaml::{Cursor, Problem};

const TRIALS_MOST: u32 = 100_000;
/// The default confidence of a claim.
const CONFIDENCE: f64 = 0.95;

/// The most trials, and the claim that they go on for.
pub(super) fn trials(
    written: Option<&Trials>,
    place: Cursor<'_>,
    problems: &mut Vec<Problem>,
) -> (u32, Option<Until>) {
    let mut bounded = |trials: u32, place: Cursor<'_>| {
        if !(1..=TRIALS_MOST).contains(&trials) {
            let message = format!("an experiment has 1 to {TRIALS_MOST} trials, not {trials}");
            problems.push(Problem::at(place.origin(), message));
        }
        trials
    };
    match written {
        None => (1, None),
        Some(Trials::Count(trials)) => (bounded(*trials, place), None),
        Some(Trials::Until(sequel)) => {
            let min = bounded(sequel.min.unwrap_or(1), place.key("min"));
            let max = bounded(sequel.max, place.key("max"));
            if problems.is_empty() {
                problems.extend(reachable(sequel, min, place));
            }
            let until = Until {
                min,
                max,
                gap_probability_below: sequel.until.gap_probability.0,
                confidence: sequel.until.confidence.map_or(CONFIDENCE, |sure| sure.0),
            };
            (max, Some(until))
        }
    }
}

/// When a trial counts as disturbed by the host.
pub(super) fn disturbed(
    written: Option<&DisturbedSpec>,
    place: Cursor<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Disturbance> {
    let rule = written?;
    if rule.stall.get() < LATE_LEAST {
        let message = format!("stalls shorter than {} are not recorded", Span(LATE_LEAST));
        let problem = Problem::at(place.key("stall").origin(), message);
        problems.push(problem.hint(format!("write {} or more", Span(LATE_LEAST))));
    }
    if let Some(replace) = rule.replace.filter(|replace| *replace > TRIALS_MOST) {
        let message = format!("at most {TRIALS_MOST} trials can be replaced, not {replace}");
        problems.push(Problem::at(place.key("replace").origin(), message));
    }
    Some(Disturbance { stall: rule.stall, replace: rule.replace })
}

/// The problem of a claim that no allowed number of trials can show.
fn reachable(sequel: &Sequel, min: u32, place: Cursor<'_>) -> Option<Problem> {
    let max = sequel.max;
    if min > max {
        let message = format!("`min: {min}` is more than `max: {max}`");
        return Some(Problem::at(place.key("min").origin(), message));
    }
    let limit = sequel.until.gap_probability.0;
    let sure = sequel.until.confidence.map_or(CONFIDENCE, |sure| sure.0);
    let until = Until { min, max, gap_probability_below: limit, confidence: sure };
    if until.rule().is_some() {
        return None;
    }
    let message = format!("{max} trials cannot show {until}, even without a joint gap");
    let hint = trials_needed(limit, sure)
        .map(|needed| format!("it takes {needed} trials without a joint gap"));
    let problem = Problem::at(place.key("max").origin(), message);
    Some(match hint {
        Some(hint) => problem.hint(hint),
        None => problem,
    })
}
