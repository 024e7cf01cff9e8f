//! Whether two sets of samples have the same distribution, and how far they are shifted.
//!
//! Durations are compared by ranks (Wilcoxon, Mann and Whitney). The p-value is that of the
//! permutation test on the sum of ranks, with mean ranks for ties: exact for small sets, from
//! seeded shuffles for large ones. Counts are compared by Fisher's exact test. A caller with
//! several comparisons corrects them with [`holm`].

use super::fisher::{exact, ln_choose};
use super::null::two_sided;
use super::{Ends, shift};

/// Larger sets are thinned to this size, evenly by rank, so that the pairs fit into memory.
const SAMPLES_MAX: usize = 2_000;

/// No usual level needs larger sets.
const SIZE_MAX: u64 = 1_000;

/// The comparison of two sets of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// The p-value: the probability of a difference this large without a real one.
    pub p: f64,
    /// The median of all pairwise differences, the second set minus the first.
    pub shift: f64,
    /// An interval for the shift; none if there are too few samples.
    pub interval: Option<Ends>,
}

/// Compares two sets of samples; none if one is empty.
#[must_use]
pub fn compare(a: &[f64], b: &[f64], confidence: f64, seed: u64) -> Option<Comparison> {
    let (a, b) = (thinned(a), thinned(b));
    let shift = shift::estimate(&a, &b)?;
    let ranks = doubled_ranks(&a, &b);
    let p = two_sided(&ranks, a.len(), seed);
    Some(Comparison { p, shift, interval: shift::interval(&a, &b, confidence) })
}

/// The p-value of two counts, each with its number of trials.
#[must_use]
pub fn counts(a: (u64, u64), b: (u64, u64)) -> f64 {
    exact(a.0, a.1, b.0, b.1)
}

/// The least p-value that sets of these sizes can have.
#[must_use]
pub fn least_p(a: u64, b: u64) -> f64 {
    if a == 0 || b == 0 {
        return 1.0;
    }
    (std::f64::consts::LN_2 - ln_choose(a + b, a)).exp().min(1.0)
}

/// The least size of two equal sets for which a p-value of `most` is possible, for samples as well
/// as for counts.
#[must_use]
pub fn least_size(most: f64) -> Option<u64> {
    (1..=SIZE_MAX).find(|size| least_p(*size, *size) <= most)
}

/// The p-values corrected for their number (Holm 1979), in the given order. The probability of even
/// one false alarm is at most the level with which they are compared.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = p_values.iter().copied().enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut corrected = vec![1.0; p_values.len()];
    let mut greatest = 0.0_f64;
    let left = (0..=u32::try_from(p_values.len()).unwrap_or(u32::MAX)).rev();
    for ((place, p), left) in order.into_iter().zip(left) {
        greatest = greatest.max((p * f64::from(left)).min(1.0));
        corrected.iter_mut().skip(place).take(1).for_each(|it| *it = greatest);
    }
    corrected
}

/// The ranks of the samples among both sets, doubled, so that the mean rank of a tie is an integer.
fn doubled_ranks(a: &[f64], b: &[f64]) -> Vec<usize> {
    let mut order: Vec<(usize, f64)> = a.iter().chain(b).copied().enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut ranks: Vec<(usize, usize)> = Vec::new();
    let equal = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1).is_eq();
    for tie in order.chunk_by(equal) {
        let before = ranks.len();
        ranks.extend(tie.iter().map(|(place, _)| (*place, 2 * before + tie.len() + 1)));
    }
    ranks.sort_unstable();
    ranks.into_iter().map(|(_, rank)| rank).collect()
}

fn thinned(samples: &[f64]) -> Vec<f64> {
    let mut all = samples.to_vec();
    all.sort_by(f64::total_cmp);
    let stride = all.len().div_ceil(SAMPLES_MAX).max(1);
    all.into_iter().skip(stride / 2).step_by(stride).collect()
}
