//! What is claimed of series in which leaders are cut off from their brokers.

use tandem::verdict::{LimitReport, Report};

use super::series::{Series, shown};

/// Above session, rebalance and first message: the bound of the gap is nothing.
pub const SEAMLESS: &str = "--set defaults.threshold=1500ms";
/// Hardly above the session: claims are over before another member takes over.
pub const SHORT: &str = "--set defaults.threshold=1001ms";

/// No leader is missed where the threshold is above the bound, and in each trial another one took
/// over meanwhile.
pub fn seamless(mut series: Series) {
    let overlapped = series.trials_with(|group| &group.overlaps);
    let trials = series.by_trial().len();
    let gaps = series.group_gaps();
    series.claims.add("no group gap of a fault", shown(&gaps), gaps.is_empty());
    let found = format!("in {overlapped} of {trials}");
    series.claims.add("an overlap in each trial", found, overlapped == trials);
    within_bounds(series);
}

/// Where it is below, one is missed for a moment, in most trials: a session counts from the last
/// heartbeat, a claim from the last message.
pub fn short(mut series: Series) {
    let missed = series.trials_with(|group| &group.gaps);
    let trials = series.by_trial().len();
    let found = format!("in {missed} of {trials}");
    series.claims.add("a gap in half of the trials", found, 2 * missed >= trials);
    within_bounds(series);
}

fn within_bounds(mut series: Series) {
    let gap = slack(&series, |limit| limit.gap_slack_ms);
    let overlap = slack(&series, |limit| limit.overlap_slack_ms);
    let holds = |slack: Option<f64>| slack.is_none_or(|slack| slack >= 0.0);
    let below = |slack: Option<f64>| match slack {
        Some(slack) => format!("the longest {slack:.0} ms below it"),
        None => "none".to_owned(),
    };
    series.claims.add("gaps within their bound", below(gap), holds(gap));
    series.claims.add("overlaps within their bound", below(overlap), holds(overlap));
    series.claim_no_joint_gap();
    let (gaps, overlaps) = (shown(&series.group_gaps()), shown(&series.overlaps()));
    series.conclude(&format!("group gaps {gaps}; overlaps {overlaps}"));
}

/// The least of all groups and parts.
fn slack(series: &Series, of: impl Fn(&LimitReport) -> Option<f64>) -> Option<f64> {
    let reports = series.parts.iter().map(|part| &part.report);
    let limits = reports.flat_map(|report: &Report| report.groups.values());
    limits.filter_map(|group| of(&group.limit)).reduce(f64::min)
}
