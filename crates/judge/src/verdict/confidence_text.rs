//! What the trials say about future ones, as short phrases.

use super::confidence_report::{Confidence, QuantileReport, StoppingOutcome};
use super::report::Report;
use super::text::short;
use super::until::percent;

/// A greater ratio is shown as more than this.
const TIMES_MAX: f64 = 1_000.0;

/// The phrases, the most important first.
pub(super) fn describe(report: &Report) -> Vec<String> {
    let of = &report.confidence;
    let mut phrases = vec![probability(of)];
    let rare = of.probability_max.is_some_and(|most| most < 0.01);
    if let Some(needed) = of.trials_needed
        && (of.trials > 0 && of.with_joint_gap == 0)
        && of.stopping.is_none()
        && !rare
    {
        phrases.push(format!("showing < 1 % needs {needed} trials without a joint gap"));
    }
    phrases.extend(quantile(report));
    phrases.extend(together(of));
    // A claim that does not hold is among the reasons.
    if let Some(claim) = &of.stopping
        && claim.outcome == StoppingOutcome::Claimed
    {
        phrases.push(format!("stopped: {} holds", claim.claim));
    }
    phrases
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
        (0, None, _) if trials == 0 => "no trial counts".to_owned(),
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

/// A share in percent with one decimal, or in scientific notation if it is very small.
fn tenth(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.1 {
        return format!("{percent:.1e} %");
    }
    format!("{percent:.1} %")
}

/// The 95th percentile of a trial's longest gap, of the group with the greatest, or the number of
/// trials that it needs.
fn quantile(report: &Report) -> Option<String> {
    let gaps = report.confidence.longest.iter().map(|(name, of)| (name, of.gap));
    let gaps: Vec<_> = gaps.filter(|(_, gap)| gap.samples > 0).collect();
    let known = |one: QuantileReport| one.low_ms.zip(one.high_ms);
    let known_gaps = gaps.iter().filter_map(|(name, gap)| Some((name, known(gap.p95)?)));
    if let Some((name, (low, high))) = known_gaps.max_by(|a, b| a.1.1.total_cmp(&b.1.1)) {
        let (low, high) = (short(low), short(high));
        return Some(format!("p95 of a trial's longest gap: {low} to {high} ms in {name}"));
    }
    let (name, most) = gaps.into_iter().max_by_key(|(_, gap)| gap.samples)?;
    let needed = most.p95.samples_needed.filter(|needed| *needed > most.samples)?;
    // The table counts gaps, and a trial has one gap per role.
    let gaps = report.groups.get(name).map_or(0, |group| group.fault.gap.count);
    let counted = if gaps > most.samples { &format!(" ({gaps} gaps)") } else { "" };
    let has = format!("{} in {name}{counted}", most.samples);
    Some(format!("p95 of gaps takes {needed} trials with one; {has}"))
}

fn together(of: &Confidence) -> Option<String> {
    let correlation = of.correlation.as_ref()?;
    match (correlation.ratio, correlation.low, correlation.high) {
        (Some(ratio), Some(low), Some(high)) => {
            let text = format!("groups fail together {} times as often as apart", times(ratio));
            // If even the lower end is beyond the limit, the interval says nothing more.
            let ends = format!(" ({} to {})", times(low), times(high));
            Some(if low > TIMES_MAX { text } else { text + &ends })
        }
        (Some(ratio), _, _) if of.with_joint_gap > 0 => {
            Some(format!("groups fail together {} times as often as apart", times(ratio)))
        }
        (Some(_) | None, _, _) => None,
    }
}

/// The ratio as text. Large ratios are not phrases apart.
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
    fn a_huge_ratio_is_cut_off() {
        let shown = [1.26, 12.4, 1_000.0, 1_000.5, 32_698_368_679.0].map(times);
        assert_eq!(shown, ["1.3", "12.4", "1000", "more than 1000", "more than 1000"]);
    }
}
