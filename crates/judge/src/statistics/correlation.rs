//! Whether groups that should fail apart fail together: the time in which all failed, over what it
//! would be if each failed by itself. 1 is independence, more is shared fate.
//!
//! The interval is the percentile bootstrap over whole trials, drawn from a seed: approximate, and
//! told only where enough trials had a joint gap for it to mean anything.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

use super::{Ends, size};

/// Fewer trials than this with a joint gap say nothing about the spread.
pub const HITS_MIN: usize = 10;
/// So many sets of trials are drawn.
const DRAWS: usize = 2_000;
/// So many numbers are drawn at most, however many trials there are.
const WORK_MAX: usize = 4_000_000;

/// One trial: for how long it was looked, and for how long nobody served, summed over roles.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// How long it was, times the number of roles.
    pub whole: f64,
    /// In no group at all.
    pub joint: f64,
    /// In each group.
    pub groups: Vec<f64>,
}

/// The joint share over the product of the groups' own; nothing where that product is 0.
#[must_use]
pub fn ratio<'a>(trials: impl Iterator<Item = &'a Trial>) -> Option<f64> {
    let (mut whole, mut joint, mut groups) = (0.0, 0.0, Vec::new());
    for trial in trials {
        whole += trial.whole;
        joint += trial.joint;
        groups.resize(groups.len().max(trial.groups.len()), 0.0);
        groups.iter_mut().zip(&trial.groups).for_each(|(sum, one)| *sum += one);
    }
    let apart: f64 = groups.iter().map(|sum| sum / whole).product();
    (whole > 0.0 && apart > 0.0).then_some(joint / whole / apart)
}

/// Between which ratios the truth lies in about `confidence` of all such series; nothing where too
/// few trials had a joint gap.
#[must_use]
pub fn interval(trials: &[Trial], confidence: f64, seed: u64) -> Option<Ends> {
    let hits = trials.iter().filter(|trial| trial.joint > 0.0).count();
    if hits < HITS_MIN {
        return None;
    }
    let mut chance = ChaCha12Rng::seed_from_u64(seed);
    let draws = DRAWS.min(WORK_MAX / trials.len().max(1)).max(200);
    let mut ratios: Vec<f64> = (0..draws)
        .map(|_| {
            let drawn: Vec<&Trial> = (0..trials.len())
                .filter_map(|_| trials.get(chance.random_range(0..trials.len())))
                .collect();
            // A group that never failed in this draw: nothing bounds the ratio.
            ratio(drawn.into_iter()).unwrap_or(f64::INFINITY)
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    let beyond =
        ratios.iter().zip(1_u64..).filter(|(_, rank)| super::float(*rank) <= tail * size(&ratios));
    let beyond = beyond.count();
    let low = ratios.get(beyond).copied()?;
    let high = ratios.iter().rev().nth(beyond).copied()?;
    high.is_finite().then_some(Ends { low, high })
}
