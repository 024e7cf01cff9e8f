//! Intervals for quantiles, whatever the distribution: from one of the samples to another.
//!
//! How many of `n` samples are no greater than a quantile is binomial, so the probability that it
//! lies between two of them, in their order, follows from their ranks alone (Conover, *Practical
//! Nonparametric Statistics*, 3.2). With ties, or a distribution with jumps, it lies there more
//! often.

use super::binomial::{at_most, least};

/// From the `low`th to the `high`th of the samples in ascending order, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranks {
    /// The sample at the lower end.
    pub low: u64,
    /// The sample at the upper end.
    pub high: u64,
}

/// The ranks between which the `share` quantile of the distribution lies in at least `confidence`
/// of all such sets of `count` samples, at most half of the others beyond each end. Nothing where
/// there are too few.
#[must_use]
pub fn ranks(count: u64, share: f64, confidence: f64) -> Option<Ranks> {
    let tail = (1.0 - confidence) / 2.0;
    // So many samples are no greater than the quantile, or fewer.
    let fewer = |rank: u64| rank.checked_sub(1).map_or(0.0, |below| at_most(below, count, share));
    let low = least(0, count + 1, |rank| fewer(rank + 1) > tail)?;
    let high = least(1, count + 1, |rank| 1.0 - fewer(rank) <= tail)?;
    (low >= 1).then_some(Ranks { low, high })
}

/// How many samples it takes for such an interval.
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
