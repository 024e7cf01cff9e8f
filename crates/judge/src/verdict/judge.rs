//! Assertions: compares the experiment's claims with the measurements.
//!
//! Intervals of every cause count. If there may be further intervals, a claim that would hold is
//! unknown. So is a claim that fails for lack of intervals: for a count or a maximum, a `>=`, a
//! `>`, or an `==` above the measured value; for a minimum or a quantile any comparison, since
//! further intervals can move it either way. A claim that holds or fails only within the
//! uncertainty of the intervals' lengths is unknown, too. If no trial ran to its end, every claim
//! is unknown.

use std::cmp::Ordering;
use std::time::Duration;

use super::distribution::{Samples, float, ms};
use super::ruling::{Ruling, Unit, Verdict};
use super::{Assertion, BoundOf, Brief, Comparison, Limit, Limits, Measure, Statistic, Subject};
use crate::timeline::{Finding, Findings, Timeline};
use tandem_facts::ids::GroupName;
use tandem_facts::time::Span;

/// The rulings on one assertion: one for all groups together or for a named group, otherwise one
/// per group.
pub(super) fn judge(claim: &Assertion, brief: &Brief, timeline: &Timeline) -> Vec<Ruling> {
    let of = |(name, line): (&GroupName, &crate::timeline::GroupLine)| {
        rule(claim, brief, Some(name), (&line.findings, timeline.record.is_played()))
    };
    match &claim.subject {
        Subject::Joint => {
            vec![rule(claim, brief, None, (&timeline.joint, timeline.record.is_played()))]
        }
        Subject::EachGroup => timeline.groups.iter().map(of).collect(),
        Subject::Group(name) => match timeline.groups.get_key_value(name) {
            Some(entry) => vec![of(entry)],
            None => vec![stranger(claim, name)],
        },
    }
}

/// The ruling on a group that does not exist.
fn stranger(claim: &Assertion, name: &GroupName) -> Ruling {
    Ruling {
        text: claim.to_string(),
        group: Some(name.clone()),
        measured: None,
        limit: 0.0,
        unit: Unit::Count,
        outcome: Verdict::Unknown,
        why: Some(format!("{claim} names group {name}, which does not exist.")),
    }
}

fn rule(
    claim: &Assertion,
    brief: &Brief,
    group: Option<&GroupName>,
    (findings, is_played): (&Findings, bool),
) -> Ruling {
    let (found, unknown) = match claim.measure {
        Measure::Gap => (&findings.gaps, &findings.unknown_gaps),
        Measure::Overlap => (&findings.overlaps, &findings.unknown_overlaps),
        Measure::Takeover => (&findings.takeovers, &findings.unknown_gaps),
    };
    let limit = Limited::of(claim, brief, group);
    let samples = Samples::of(found);
    let order = limit.order(claim.statistic, &samples);
    let hidden = !is_played || !unknown.is_empty();
    let seen = compare(claim.statistic, claim.comparison, order, hidden);
    // The same claim with every interval as short as it may have been.
    let least = limit.order(claim.statistic, &Samples::least(found));
    let unsure = compare(claim.statistic, claim.comparison, least, hidden) != seen;
    let outcome = if unsure { Verdict::Unknown } else { seen };
    let why = match outcome {
        Verdict::Pass => None,
        Verdict::Fail => Some(format!("{} broke {claim}.", Ruling::subject(group))),
        Verdict::Unknown if unsure => Some(inexact(group, found, claim.as_str())),
        Verdict::Unknown => Some(blind(group, unknown, claim.as_str())),
    };
    let (unit, measured, limit) = limit.shown(claim.statistic, &samples);
    let (text, group) = (claim.to_string(), group.cloned());
    Ruling { text, group, measured, limit, unit, outcome, why }
}

/// The limit of a claim in its unit.
enum Limited {
    Count(u64),
    Duration(Duration),
}

impl Limited {
    fn of(claim: &Assertion, brief: &Brief, group: Option<&GroupName>) -> Self {
        if claim.statistic == Statistic::Count {
            Self::Count(count(claim.limit))
        } else {
            Self::Duration(duration(claim.limit, brief, group))
        }
    }

    /// How the samples compare with the limit.
    fn order(&self, statistic: Statistic, samples: &Samples) -> Ordering {
        match self {
            Self::Count(limit) => samples.count().cmp(limit),
            Self::Duration(limit) => samples.statistic(statistic).unwrap_or_default().cmp(limit),
        }
    }

    /// The unit, what was measured, and the limit.
    fn shown(&self, statistic: Statistic, samples: &Samples) -> (Unit, Option<f64>, f64) {
        match self {
            Self::Count(limit) => (Unit::Count, Some(float(samples.count())), float(*limit)),
            Self::Duration(limit) => (Unit::Ms, samples.statistic(statistic).map(ms), ms(*limit)),
        }
    }
}

fn compare(
    statistic: Statistic,
    comparison: Comparison,
    order: Ordering,
    unknown: bool,
) -> Verdict {
    let held = comparison.holds(&order, &Ordering::Equal);
    let curable = match statistic {
        // Further or longer intervals can only increase it.
        Statistic::Count | Statistic::Max => {
            order == Ordering::Less
                || (order == Ordering::Equal && matches!(comparison, Comparison::Above))
        }
        // Further short intervals decrease it, long ones increase it.
        Statistic::Min | Statistic::P50 | Statistic::P95 | Statistic::P99 => true,
    };
    match (held, unknown) {
        (true, false) => Verdict::Pass,
        (true, true) => Verdict::Unknown,
        (false, true) if curable => Verdict::Unknown,
        (false, _) => Verdict::Fail,
    }
}

fn count(limit: Limit) -> u64 {
    match limit {
        Limit::Count(count) => count,
        // The parser allows none of these with a count.
        Limit::Duration(_) | Limit::JointBound(_) | Limit::GroupBound(_) => 0,
    }
}

fn duration(limit: Limit, brief: &Brief, group: Option<&GroupName>) -> Duration {
    // An experiment with an unknown bound is refused before it runs.
    let pick = |limits: &Limits, of: BoundOf| {
        let known = match of {
            BoundOf::Gap => limits.gap,
            BoundOf::Overlap => limits.overlap,
        };
        known.map_or(Duration::MAX, Span::get)
    };
    match limit {
        // The parser allows no count with a duration.
        Limit::Count(_) => Duration::ZERO,
        Limit::Duration(span) => span.get(),
        Limit::JointBound(of) => pick(&brief.joint, of),
        Limit::GroupBound(of) => {
            let limits = group.and_then(|name| brief.limits.get(name));
            limits.map_or(Duration::ZERO, |limits| pick(limits, of))
        }
    }
}

/// Why a claim is unknown that holds or not within the uncertainty of the measurement.
pub(super) fn inexact(group: Option<&GroupName>, found: &[Finding], claim: &str) -> String {
    let subject = Ruling::subject(group);
    let widest = found.iter().map(|one| one.excess).max().unwrap_or_default();
    let widest = ms(widest);
    format!("{subject}: intervals may be up to {widest:.1} ms shorter, so {claim} is unknown.")
}

/// Why a claim is unknown, as a sentence.
pub(super) fn blind(group: Option<&GroupName>, unknown: &[Finding], claim: &str) -> String {
    let subject = Ruling::subject(group);
    if unknown.is_empty() {
        return format!(
            "{subject}: no trial that counts was played to its end, so {claim} is unknown."
        );
    }
    let spans = unknown.iter().map(|finding| finding.span);
    let total = ms(spans.collect::<crate::timeline::IntervalSet>().total());
    format!("{subject}: {total:.0} ms could not be observed, so {claim} is unknown.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_further_intervals_could_bring_down_has_not_failed_where_some_are_unknown() {
        for (statistic, unseen) in [
            (Statistic::Min, Verdict::Unknown),
            (Statistic::P50, Verdict::Unknown),
            (Statistic::P95, Verdict::Unknown),
            (Statistic::P99, Verdict::Unknown),
            (Statistic::Max, Verdict::Fail),
            (Statistic::Count, Verdict::Fail),
        ] {
            for sign in [Comparison::AtMost, Comparison::Below, Comparison::Equal] {
                let above = |unknown| compare(statistic, sign, Ordering::Greater, unknown);
                assert_eq!((above(false), above(true)), (Verdict::Fail, unseen), "{statistic:?}");
            }
        }
    }
}
