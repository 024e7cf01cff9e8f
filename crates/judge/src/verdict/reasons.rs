//! What explains a run that did not go as it should: stalls of the host, brokers that were lost,
//! members that could not reach theirs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::ms;
use super::report::{Report, Stall};
use super::text::short;
use crate::timeline::{Incident, Interval, Outage, Timeline};
use tandem_facts::time::Mono;

/// A stall that is shorter is not told in the text: a duty may be silent for as long.
const STALL_LEAST_MS: f64 = 100.0;
/// How many outages the text tells.
const SHOWN: usize = 3;
/// For so long after a fault its victims may still be out.
const AFTER_MS: u64 = 15_000;

/// A broker was lost, or a member could not reach its brokers, and no fault was on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutageReport {
    /// A life, as in `p1-1.2`, or a broker, as in `broker 1 at h:9092 of cluster a`.
    pub who: String,
    /// What the member's client said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// When it was noticed.
    pub from_ms: f64,
    /// When it was over; null where that was not seen.
    pub until_ms: Option<f64>,
}

/// Those that no fault explains.
pub(super) fn outages(timeline: &Timeline, zero: Mono) -> Vec<OutageReport> {
    let faults: Vec<Interval> = timeline.record.incidents.values().map(window).collect();
    let unexplained =
        |outage: &&Outage| !faults.iter().any(|fault| fault.contains(outage.span.from));
    let told = |outage: &Outage| OutageReport {
        who: outage.who.clone(),
        why: outage.why.clone(),
        from_ms: ms(outage.span.from.since(zero)),
        until_ms: (!outage.goes_on()).then(|| ms(outage.span.until.since(zero))),
    };
    timeline.outages.iter().filter(unexplained).map(told).collect()
}

/// From when a fault was asked for until its victims must have recovered.
fn window(fault: &Incident) -> Interval {
    let after = std::time::Duration::from_millis(AFTER_MS);
    Interval::new(fault.asked, fault.healed.map_or(Mono(u64::MAX), |healed| healed + after))
}

/// What the text says of the host.
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

/// What it says of brokers and members.
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
    let mut told: Vec<String> = report.outages.iter().take(SHOWN).map(one).collect();
    if let Some(more @ 1..) = report.outages.len().checked_sub(SHOWN) {
        told.push(format!("and {more} more: see result.json"));
    }
    told
}
