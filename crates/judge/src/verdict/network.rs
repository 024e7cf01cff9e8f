//! What a reader wants to know after faults of the network: how soon members were answered again,
//! and how far what these cost was from its bounds.

use super::report::{FaultReport, LimitReport, Report};
use super::text::short;
use tandem_facts::observation::FaultClass;

/// In a few words each; nothing where there was no such fault.
pub(super) fn describe(report: &Report) -> Vec<String> {
    let between = |one: &&FaultReport| one.class == FaultClass::Intercepts;
    let faults = report.faults.iter().filter(between);
    let after: Vec<Option<f64>> = faults
        .filter_map(|one| {
            // The first answer may pass between the lifting of the rule and its stamp.
            let after = |healed: f64| one.reconnected_ms.map(|at| (at - healed).max(0.0));
            one.healed_ms.map(after)
        })
        .collect();
    if after.is_empty() {
        return Vec::new();
    }
    let mut told = Vec::new();
    let slowest = after.iter().flatten().copied().reduce(f64::max);
    told.extend(slowest.map(|most| format!("answered again {} ms after the heal", short(most))));
    let never = after.iter().filter(|after| after.is_none()).count();
    if never > 0 {
        told.push(format!("nobody was seen to be answered after {never} of {}", after.len()));
    }
    let slack = |what: &str, of: fn(&LimitReport) -> Option<f64>| {
        let all = report.groups.values().filter_map(|group| of(&group.limit));
        let least = all.reduce(f64::min)?;
        let side = if least < 0.0 { "above" } else { "below" };
        Some(format!("longest {what} {} ms {side} its bound", short(least.abs())))
    };
    told.extend(slack("gap", |limit| limit.gap_slack_ms));
    told.extend(slack("overlap", |limit| limit.overlap_slack_ms));
    told
}
