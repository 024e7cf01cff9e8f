//! Whether two sets of samples come from one distribution, and how far they are apart.
//!
//! Lengths are compared by their ranks (Wilcoxon, Mann and Whitney): the p-value is that of the
//! permutation test on the sum of ranks, ties at their mean rank, exact where the sets are small
//! and by seeded shuffles where they are not. Counts are compared by Fisher's exact test. Whoever
//! makes several comparisons corrects them with [`holm`].

use super::fisher::{exact, ln_choose};
use super::null::two_sided;
use super::{Ends, shift};

/// Of more samples than this, so many are taken, evenly by rank: the pairs must fit into memory.
const SAMPLES_MAX: usize = 2_000;

/// No level that anybody asks for takes more.
const SIZE_MAX: u64 = 1_000;

/// Two sets of samples, compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// How probable so great a difference is where there is none.
    pub p: f64,
    /// The median of all differences, the second less the first.
    pub shift: f64,
    /// Between which shifts the truth lies; nothing where there are too few samples.
    pub interval: Option<Ends>,
}

/// Compares two sets of samples; nothing where one is empty.
#[must_use]
pub fn compare(a: &[f64], b: &[f64], confidence: f64, seed: u64) -> Option<Comparison> {
    let (a, b) = (thinned(a), thinned(b));
    let shift = shift::estimate(&a, &b)?;
    let ranks = doubled_ranks(&a, &b);
    let p = two_sided(&ranks, a.len(), seed);
    Some(Comparison { p, shift, interval: shift::interval(&a, &b, confidence) })
}

/// The p-value of two counts, each of so many.
#[must_use]
pub fn counts(a: (u64, u64), b: (u64, u64)) -> f64 {
    exact(a.0, a.1, b.0, b.1)
}

/// The least p-value that sets of these sizes can have: a greater one is never enough.
#[must_use]
pub fn least_p(a: u64, b: u64) -> f64 {
    if a == 0 || b == 0 {
        return 1.0;
    }
    (std::f64::consts::LN_2 - ln_choose(a + b, a)).exp().min(1.0)
}

/// How large two sets of one size must be, at the least, for a p-value of `most` to be possible at
/// all: for samples, and as well for two counts of so many.
#[must_use]
pub fn least_size(most: f64) -> Option<u64> {
    (1..=SIZE_MAX).find(|size| least_p(*size, *size) <= most)
}

/// The p-values corrected for their number (Holm 1979), in the order given: the probability of even
/// one false alarm among them is no more than the level that they are compared with.
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

/// The ranks of the samples among all of both sets, doubled, so that the mean of a tie is whole.
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
