//! What the trials say about future ones: probabilities, quantiles, correlation.

use super::Measure;
use super::confidence_report::{
    Confidence, CorrelationReport, LEVEL, LongestReport, ProbabilityReport, QuantileReport,
    QuantilesReport, StoppingOutcome,
};
use super::counted::{Longest, joint_gaps, unavailable};
use super::{Brief, stopping};
use crate::statistics::{binomial, correlation, quantile};
use crate::timeline::Timeline;
use tandem_facts::ids::GroupName;

/// The report gives the number of trials without a joint gap that shows this probability.
const RARE: f64 = 0.01;

/// Computes all of it; `seed` is for the bootstrap.
pub(super) fn compute(brief: &Brief, timeline: &Timeline, roles: u32, seed: u64) -> Confidence {
    let level = brief.until.map_or(LEVEL, |until| until.confidence);
    let seen: Vec<bool> = joint_gaps(timeline).into_iter().filter_map(|(_, had)| had).collect();
    let trials = count(seen.len());
    let hits = count(seen.iter().filter(|had| **had).count());
    // A gap counts here even in a trial that does not count.
    let none = timeline.joint.gaps.is_empty();
    let judged = stopping::judge(brief, timeline);
    let claimed = judged.as_ref().and_then(|(report, most)| {
        (report.outcome == StoppingOutcome::Claimed).then_some(*most).flatten()
    });
    let upper = || binomial::upper(0, trials, level).filter(|_| none);
    let between =
        binomial::proportion(hits, trials, level).filter(|_| hits > 0 && judged.is_none());
    let longest = timeline.groups.keys().map(|name| (name.clone(), longest(timeline, name, level)));
    let several = timeline.groups.len() > 1;
    Confidence {
        trials,
        with_joint_gap: hits,
        probability_max: claimed.or_else(upper),
        level,
        probability: between.map(|ends| ProbabilityReport { low: ends.low, high: ends.high }),
        trials_needed: binomial::trials_needed(RARE, level),
        longest: longest.collect(),
        correlation: several.then(|| together(timeline, roles, level, seed)),
        stopping: judged.map(|(report, _)| report),
    }
}

fn longest(timeline: &Timeline, group: &GroupName, level: f64) -> LongestReport {
    let of = |measure| quantiles(&Longest::of(timeline, Some(group), measure), level);
    LongestReport {
        gap: of(Measure::Gap),
        overlap: of(Measure::Overlap),
        takeover: of(Measure::Takeover),
    }
}

fn quantiles(of: &Longest, level: f64) -> QuantilesReport {
    let samples = count(of.samples_ms.len());
    let one = |share: f64| {
        let ranks = quantile::ranks(samples, share, level);
        let at = |rank: u64| {
            let place = usize::try_from(rank.checked_sub(1)?).ok()?;
            of.samples_ms.get(place).copied().filter(|sample| sample.is_finite())
        };
        QuantileReport {
            low_ms: ranks.and_then(|ranks| at(ranks.low)),
            high_ms: ranks.and_then(|ranks| at(ranks.high)),
            samples_needed: quantile::samples_needed(share, level),
        }
    };
    QuantilesReport { trials: of.trials, samples, p50: one(0.5), p95: one(0.95), p99: one(0.99) }
}

fn together(timeline: &Timeline, roles: u32, level: f64, seed: u64) -> CorrelationReport {
    let trials = unavailable(timeline, f64::from(roles));
    let ratio = correlation::ratio(trials.iter());
    let ends = ratio.and_then(|_| correlation::interval(&trials, level, seed));
    let never = timeline.groups.iter().filter(|(_, line)| line.findings.gaps.is_empty());
    let never: Vec<&str> = never.map(|(name, _)| name.as_str()).collect();
    let why = match (ratio, ends) {
        (_, Some(_)) => None,
        (None, None) if never.is_empty() => Some("no trial was seen in full".to_owned()),
        (None, None) => Some(format!("undefined: {} had no gap", never.join(", "))),
        (Some(_), None) => {
            Some(format!("no interval: fewer than {} joint gaps", correlation::HITS_MIN))
        }
    };
    let low = ends.map(|ends| ends.low);
    CorrelationReport { ratio, low, high: ends.map(|ends| ends.high), why }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
