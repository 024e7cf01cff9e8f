//! Distribution-free intervals for quantiles: from one of the samples to another.
//!
//! The number of samples up to a quantile is binomial. So the probability that the quantile lies
//! between two ordered samples follows from their ranks alone (Conover, *Practical Nonparametric
//! Statistics*, 3.2). With ties, or a distribution with jumps, the probability is higher.

use super::binomial::{at_most, least};

/// An interval from the `low`th to the `high`th of the samples in ascending order, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranks {
    /// The rank of the lower end.
    pub low: u64,
    /// The rank of the upper end.
    pub high: u64,
}

/// The ranks of an interval for the `share` quantile, from `count` samples. At least `confidence`
/// of all such intervals contain the quantile; at most half of the others miss it on each side.
/// None if there are too few samples.
#[must_use]
pub fn ranks(count: u64, share: f64, confidence: f64) -> Option<Ranks> {
    let tail = (1.0 - confidence) / 2.0;
    // The probability that fewer than `rank` samples are up to the quantile.
    let fewer = |rank: u64| rank.checked_sub(1).map_or(0.0, |below| at_most(below, count, share));
    let low = least(0, count + 1, |rank| fewer(rank + 1) > tail)?;
    let high = least(1, count + 1, |rank| 1.0 - fewer(rank) <= tail)?;
    (low >= 1).then_some(Ranks { low, high })
}

/// The number of samples that such an interval needs.
#[must_use]
pub fn samples_needed(share: f64, confidence: f64) -> Option<u64> {
    let tail = (1.0 - confidence) / 2.0;
    let rarer = share.max(1.0 - share);
    if !(rarer < 1.0 && tail > 0.0) {
        return None;
    }
    let enough = |count| at_most(0, count, 1.0 - rarer) <= tail;
    least(1, 1 << 40, enough)
}
