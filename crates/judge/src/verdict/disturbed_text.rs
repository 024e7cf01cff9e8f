//! The trials that the host disturbed, in a few words each.

use super::report::Report;
use super::text::short;

/// So many of them are told; `result.json` has all.
const TOLD: usize = 5;

/// In a few words each; nothing where none was disturbed, or the experiment does not say when one
/// is.
pub(super) fn describe(report: &Report) -> Vec<String> {
    let Some(of) = &report.disturbed else { return Vec::new() };
    if of.trials.is_empty() {
        return Vec::new();
    }
    let (number, all, stall) = (of.trials.len(), of.all(), short(of.stall_ms));
    let replaced = match of.replaced {
        0 => "none replaced".to_owned(),
        replaced => format!("{replaced} replaced"),
    };
    let mut told = vec![format!(
        "{number} of {all} trials, held up by the host for more than {stall} ms; {replaced}"
    )];
    told.extend(of.trials.iter().take(TOLD).map(|one| {
        let (outcome, held) = (one.outcome.as_str(), short(one.stalled_ms));
        format!("trial {}: {outcome} ({held} ms, {})", one.trial, one.whose())
    }));
    if let Some(more @ 1..) = number.checked_sub(TOLD) {
        told.push(format!("and {more} more: see result.json"));
    }
    told.push(format!("over all {all} trials: {}", of.verdict_all.as_str()));
    told
}
