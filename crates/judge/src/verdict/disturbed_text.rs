//! The trials that the host disturbed, as short phrases.

use super::report::Report;
use super::text::short;

/// The number of trials shown; `result.json` has all.
const SHOWN: usize = 5;

/// The phrases; none if no trial was disturbed, or the experiment has no rule for it.
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
    let mut phrases = vec![format!(
        "{number} of {all} trials, held up by the host for more than {stall} ms; {replaced}"
    )];
    phrases.extend(of.trials.iter().take(SHOWN).map(|one| {
        let (outcome, held) = (one.outcome.as_str(), short(one.stalled_ms));
        format!("trial {}: {outcome} ({held} ms, {})", one.trial, one.whose())
    }));
    if let Some(more @ 1..) = number.checked_sub(SHOWN) {
        phrases.push(format!("and {more} more: see result.json"));
    }
    phrases.push(format!("over all {all} trials: {}", of.verdict_all.as_str()));
    phrases
}
