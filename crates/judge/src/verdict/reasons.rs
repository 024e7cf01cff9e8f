//! Causes of a bad run outside of its faults: stalls of the host, lost brokers, and members that
//! could not reach their brokers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::ms;
use super::report::{Report, Stall};
use super::text::short;
use crate::timeline::{Incident, Interval, Outage, Timeline};
use tandem_facts::time::Mono;

/// Shorter stalls are left out of the text, since a duty may pause for as long.
const STALL_LEAST_MS: f64 = 100.0;
/// The number of outages in the text.
const SHOWN: usize = 3;
/// How long after a fault its victims may still be without contact.
const AFTER_MS: u64 = 15_000;

/// A time in which a broker was lost, or a member could not reach its brokers, without a fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutageReport {
    /// A life, as in `p1-1.2`, or a broker, as in `broker 1 at h:9092 of cluster a`.
    pub who: String,
    /// The error of the member's client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The start.
    pub from_ms: f64,
    /// The end; null if it was not observed.
    pub until_ms: Option<f64>,
}

/// The outages that no fault explains.
pub(super) fn outages(timeline: &Timeline, zero: Mono) -> Vec<OutageReport> {
    let faults: Vec<Interval> = timeline.record.incidents.values().map(window).collect();
    let unexplained =
        |outage: &&Outage| !faults.iter().any(|fault| fault.contains(outage.span.from));
    let report = |outage: &Outage| OutageReport {
        who: outage.subject.clone(),
        why: outage.why.clone(),
        from_ms: ms(outage.span.from.since(zero)),
        until_ms: (!outage.goes_on()).then(|| ms(outage.span.until.since(zero))),
    };
    timeline.outages.iter().filter(unexplained).map(report).collect()
}

/// From the request of a fault until its victims must have recovered.
fn window(fault: &Incident) -> Interval {
    let after = std::time::Duration::from_millis(AFTER_MS);
    Interval::new(fault.asked, fault.healed.map_or(Mono(u64::MAX), |healed| healed + after))
}

/// The phrases about the host.
pub(super) fn host(report: &Report) -> Vec<String> {
    let length = |stall: &Stall| stall.until_ms - stall.from_ms;
    let stalls: Vec<f64> = report.stalls.iter().map(length).collect();
    let long: Vec<f64> = stalls.into_iter().filter(|ms| *ms >= STALL_LEAST_MS).collect();
    let longest = long.iter().copied().fold(0.0, f64::max);
    match long.len() {
        0 => Vec::new(),
        1 => vec![format!("stalled once, for {} ms", short(longest))],
        many => vec![format!("stalled {many} times, for up to {} ms", short(longest))],
    }
}

/// The phrases about brokers and members.
pub(super) fn unreached(report: &Report) -> Vec<String> {
    let one = |outage: &OutageReport| {
        let OutageReport { who, why, from_ms, until_ms } = outage;
        let lasted = until_ms.map(|until| format!("for {:.1} s", (until - from_ms) / 1_000.0));
        let lasted = lasted.unwrap_or_else(|| "to the end".to_owned());
        match why {
            Some(why) => format!("{who} did not reach its brokers {lasted}: {why}"),
            None => format!("{who} was lost {lasted}"),
        }
    };
    let mut phrases: Vec<String> = report.outages.iter().take(SHOWN).map(one).collect();
    if let Some(more @ 1..) = report.outages.len().checked_sub(SHOWN) {
        phrases.push(format!("and {more} more: see result.json"));
    }
    phrases
}
