//! The effect of network faults: how soon brokers answered members again, and the distance of gaps
//! and overlaps from their bounds.

use super::report::{FaultReport, LimitReport, Report};
use super::text::short;
use tandem_facts::observation::FaultClass;

/// The phrases; none if there was no such fault.
pub(super) fn describe(report: &Report) -> Vec<String> {
    let between = |one: &&FaultReport| one.class == FaultClass::Intercepts;
    let faults = report.faults.iter().filter(between);
    let after: Vec<Option<f64>> = faults
        .filter_map(|one| {
            // The first answer may pass after the rule is lifted and before the heal is stamped.
            let after = |healed: f64| one.reconnected_ms.map(|at| (at - healed).max(0.0));
            one.healed_ms.map(after)
        })
        .collect();
    if after.is_empty() {
        return Vec::new();
    }
    let mut phrases = Vec::new();
    let slowest = after.iter().flatten().copied().reduce(f64::max);
    phrases.extend(slowest.map(|most| format!("answered again {} ms after the heal", short(most))));
    let never = after.iter().filter(|after| after.is_none()).count();
    if never > 0 {
        phrases.push(format!("no answer was seen after {never} of {} heals", after.len()));
    }
    let slack = |what: &str, of: fn(&LimitReport) -> Option<f64>| {
        let all = report.groups.values().filter_map(|group| of(&group.limit));
        let least = all.reduce(f64::min)?;
        let side = if least < 0.0 { "above" } else { "below" };
        Some(format!("longest {what} {} ms {side} its bound", short(least.abs())))
    };
    phrases.extend(slack("gap", |limit| limit.gap_slack_ms));
    phrases.extend(slack("overlap", |limit| limit.overlap_slack_ms));
    phrases
}
