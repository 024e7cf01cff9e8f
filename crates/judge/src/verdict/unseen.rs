//! Times that no process observed: they make every verdict unknown.

use crate::timeline::{Interval, RunRecord};
use tandem_facts::time::Span;

/// Why the run is unknown, one sentence each: a suspend of the host within a trial, and facts that
/// were not written, since these may be of any trial.
pub(super) fn reasons(record: &RunRecord) -> Vec<String> {
    let in_trial = |span: &&Interval| {
        record.trials.iter().any(|trial| !trial.window.intersect(**span).is_empty())
    };
    let suspended = record.suspends.iter().filter(in_trial).map(|span| {
        let lasted = round(*span);
        format!("The host was suspended for {lasted}: nothing is known of that time.")
    });
    let unwritten = record.unwritten.iter().map(|(span, facts)| {
        let lasted = round(*span);
        format!("The disk did not take {facts} facts: what happened within {lasted} is unknown.")
    });
    suspended.chain(unwritten).collect()
}

/// Rounded to milliseconds.
fn round(span: Interval) -> Span {
    Span::ms(u64::try_from(span.length().as_millis()).unwrap_or(u64::MAX))
}
