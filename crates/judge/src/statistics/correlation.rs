//! Whether groups that should fail independently fail together: the share of time in which all
//! failed, divided by the share that independent failures would give. 1 is independence, more is
//! shared fate.
//!
//! The interval is the percentile bootstrap over whole trials, drawn from a seed. It is
//! approximate, so it is reported only if enough trials had a joint gap.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

use super::{Ends, size};

/// With fewer joint gaps than this there is no interval.
pub const HITS_MIN: usize = 10;
/// The number of bootstrap samples.
const DRAWS: usize = 2_000;
/// The limit on the total size of all bootstrap samples.
const WORK_MAX: usize = 4_000_000;

/// One trial: the observed time, and the times without service, summed over roles.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The observed time, times the number of roles.
    pub whole: f64,
    /// The time without service in any group.
    pub joint: f64,
    /// The time without service in each group.
    pub groups: Vec<f64>,
}

/// The joint share divided by the product of the groups' own shares; none if that product is 0.
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

/// An interval that contains the ratio with about `confidence`; none if too few trials had a joint
/// gap.
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
            // A group that never failed in this sample leaves the ratio without a bound.
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
