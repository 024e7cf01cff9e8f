//! What the trials say about those to come, in a few words each.

use super::confidence_report::{Confidence, QuantileReport, StoppingOutcome};
use super::report::Report;
use super::text::short;
use super::until::percent;

/// What is more often is told as more often than this.
const TIMES_MAX: f64 = 1_000.0;

/// In a few words each, what counts most first.
pub(super) fn describe(report: &Report) -> Vec<String> {
    let of = &report.confidence;
    let mut told = vec![probability(of)];
    let rare = of.probability_max.is_some_and(|most| most < 0.01);
    if let Some(needed) = of.trials_needed
        && (of.trials > 0 && of.with_joint_gap == 0)
        && of.stopping.is_none()
        && !rare
    {
        told.push(format!("it takes {needed} to show < 1 %"));
    }
    told.extend(quantile(report));
    told.extend(together(of));
    // Why a claim does not hold stands among the reasons.
    if let Some(claim) = &of.stopping
        && claim.outcome == StoppingOutcome::Claimed
    {
        told.push(format!("stopped, for {} holds", claim.claim));
    }
    told
}

fn probability(of: &Confidence) -> String {
    let sure = percent(of.level);
    let trials = of.trials;
    let many = if trials == 1 { "" } else { "s" };
    match (of.with_joint_gap, of.probability_max, of.probability) {
        (0, Some(most), _) => format!(
            "no joint gap in {trials} trial{many}: at most {} of such trials have one ({sure})",
            tenth(most)
        ),
        (0, None, _) if trials == 0 => "no trial was observed to its end".to_owned(),
        (with, Some(most), _) => format!(
            "a joint gap in {with} of {trials} trials: at most {} have one ({sure})",
            tenth(most)
        ),
        (with, None, Some(ends)) => format!(
            "a joint gap in {with} of {trials} trials: {} to {} of such trials have one ({sure})",
            tenth(ends.low).trim_end_matches(" %"),
            tenth(ends.high)
        ),
        (with, None, None) => format!("a joint gap in {with} of {trials} trials"),
    }
}

/// A share in percent with one digit, or with two that are not 0 where it is less.
fn tenth(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.1 {
        return format!("{percent:.1e} %");
    }
    format!("{percent:.1} %")
}

/// The 95th percentile of a trial's longest gap, of the group of which it may be greatest, or what
/// it takes to tell.
fn quantile(report: &Report) -> Option<String> {
    let gaps = report.confidence.longest.iter().map(|(name, of)| (name, of.gap));
    let gaps: Vec<_> = gaps.filter(|(_, gap)| gap.samples > 0).collect();
    let known = |one: QuantileReport| one.low_ms.zip(one.high_ms);
    let told = gaps.iter().filter_map(|(name, gap)| Some((name, known(gap.p95)?)));
    if let Some((name, (low, high))) = told.max_by(|a, b| a.1.1.total_cmp(&b.1.1)) {
        let (low, high) = (short(low), short(high));
        return Some(format!("p95 of a trial's longest gap: {low} to {high} ms in {name}"));
    }
    let (name, most) = gaps.into_iter().max_by_key(|(_, gap)| gap.samples)?;
    let needed = most.p95.samples_needed.filter(|needed| *needed > most.samples)?;
    // The table counts gaps, of which a trial has one a role.
    let gaps = report.groups.get(name).map_or(0, |group| group.fault.gap.count);
    let counted = if gaps > most.samples { &format!(" ({gaps} gaps)") } else { "" };
    let has = format!("{} in {name}{counted}", most.samples);
    Some(format!("p95 of gaps takes {needed} trials with one; {has}"))
}

fn together(of: &Confidence) -> Option<String> {
    let correlation = of.correlation.as_ref()?;
    match (correlation.ratio, correlation.low, correlation.high) {
        (Some(ratio), Some(low), Some(high)) => {
            let told = format!("groups fail together {} times as often as apart", times(ratio));
            // Where even the least is beyond telling, the two say nothing more.
            let ends = format!(" ({} to {})", times(low), times(high));
            Some(if low > TIMES_MAX { told } else { told + &ends })
        }
        (Some(ratio), _, _) if of.with_joint_gap > 0 => {
            Some(format!("groups fail together {} times as often as apart", times(ratio)))
        }
        (Some(_) | None, _, _) => None,
    }
}

/// How many times as often; nobody can tell one large number of times from another.
fn times(ratio: f64) -> String {
    match ratio {
        ..10.0 => format!("{ratio:.1}"),
        ..=TIMES_MAX => short(ratio),
        _ => format!("more than {TIMES_MAX:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::times;

    #[test]
    fn nobody_is_told_of_billions_of_times() {
        let told = [1.26, 12.4, 1_000.0, 1_000.5, 32_698_368_679.0].map(times);
        assert_eq!(told, ["1.3", "12.4", "1000", "more than 1000", "more than 1000"]);
    }
}
