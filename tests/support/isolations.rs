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
    let none = series.group_gaps().is_empty();
    series.claims.add("no group gap of a fault", none);
    series.claims.add("an overlap in each trial", overlapped == trials);
    let told = format!("overlaps in {overlapped}");
    within_bounds(series, &told);
}

/// Where it is below, one is missed for a moment, in most trials: a session counts from the last
/// heartbeat, a claim from the last message.
pub fn short(mut series: Series) {
    let missed = series.trials_with(|group| &group.gaps);
    let trials = series.by_trial().len();
    series.claims.add("a gap in half of the trials", 2 * missed >= trials);
    let told = format!("gaps in {missed}");
    within_bounds(series, &told);
}

fn within_bounds(mut series: Series, told: &str) {
    let gap = slack(&series, |limit| limit.gap_slack_ms);
    let overlap = slack(&series, |limit| limit.overlap_slack_ms);
    let holds = |slack: Option<f64>| slack.is_none_or(|slack| slack >= 0.0);
    series.claims.add("gaps within their bound", holds(gap));
    series.claims.add("overlaps within their bound", holds(overlap));
    let joint = series.joint_gaps();
    series.claims.add("no joint gap", joint.is_empty());
    let overlaps = series.overlaps();
    let below = |slack: Option<f64>| match slack {
        Some(slack) => format!("the longest {slack:.0} ms below its bound"),
        None => "so none near its bound".to_owned(),
    };
    let text = format!(
        "{told}; group gaps {}, {}; overlaps {}, {}; joint gaps {}",
        shown(&series.group_gaps()),
        below(gap),
        shown(&overlaps),
        below(overlap),
        shown(&joint)
    );
    series.conclude(&text);
}

/// The least of all groups and parts.
fn slack(series: &Series, of: impl Fn(&LimitReport) -> Option<f64>) -> Option<f64> {
    let reports = series.parts.iter().map(|part| &part.report);
    let limits = reports.flat_map(|report: &Report| report.groups.values());
    limits.filter_map(|group| of(&group.limit)).reduce(f64::min)
}
