//! The shift between two sets of samples: the median of all pairwise differences, with the interval
//! of the rank test (Hodges and Lehmann 1963; Moses).

use statrs::distribution::{ContinuousCDF, Normal};

use super::null::ways;
use super::{Ends, float};

/// The median of all pairwise differences.
pub(super) fn estimate(a: &[f64], b: &[f64]) -> Option<f64> {
    let all = differences(a, b);
    let middle = all.len() / 2;
    let upper = all.get(middle).copied()?;
    if all.len() % 2 == 1 {
        return Some(upper);
    }
    all.get(middle.checked_sub(1)?).map(|lower| f64::midpoint(*lower, upper))
}

/// An interval for the shift: at least `confidence` of all such intervals contain it. For large
/// sets it uses the normal approximation. None if there are too few samples.
pub(super) fn interval(a: &[f64], b: &[f64], confidence: f64) -> Option<Ends> {
    let all = differences(a, b);
    let outside = outside(a.len(), b.len(), (1.0 - confidence) / 2.0)?;
    let low = all.get(outside.checked_sub(1)?).copied()?;
    let high = all.iter().rev().nth(outside - 1).copied()?;
    Some(Ends { low, high })
}

/// The rank of the difference at each end.
pub(super) fn outside(a: usize, b: usize, tail: f64) -> Option<usize> {
    let ranks: Vec<usize> = (1..=a + b).collect();
    if let Some(ways) = ways(&ranks, a) {
        let whole: f64 = ways.iter().sum();
        let least = a * (a + 1) / 2;
        let mut spent = 0.0;
        let sums = ways.iter().skip(least);
        let within = sums.take_while(|ways| {
            spent += **ways / whole;
            spent <= tail
        });
        return Some(within.count());
    }
    let (a, b) = (float(u64::try_from(a).ok()?), float(u64::try_from(b).ok()?));
    let normal = Normal::standard().inverse_cdf(tail);
    let rank = a * b / 2.0 + normal * (a * b * (a + b + 1.0) / 12.0).sqrt();
    // Counts up to the number, to avoid a cast.
    least_above(rank)
}

/// The greatest integer below `rank`, by bisection.
fn least_above(rank: f64) -> Option<usize> {
    let fits = |number: u64| float(number) <= rank;
    let found = super::binomial::least(0, 1 << 40, |number| !fits(number + 1))?;
    usize::try_from(found).ok()
}

/// Each `b` minus each `a`, in ascending order.
fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    // Two infinite samples are censored: which is longer is unknown.
    let less = |b: f64, a: f64| if a.total_cmp(&b).is_eq() { 0.0 } else { b - a };
    let mut all: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| less(*b, *a))).collect();
    all.sort_by(f64::total_cmp);
    all
}
