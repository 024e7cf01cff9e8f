//! The distribution of a sum of ranks under the null hypothesis: exact where that is affordable,
//! otherwise from seeded shuffles.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;

use super::float;

/// The limit on additions for the exact distribution.
const WORK_MAX: usize = 20_000_000;
/// The number of shuffles otherwise.
const SHUFFLES: u32 = 20_000;

/// For each sum of `chosen` of these ranks, the number of ways to get it; none if that takes too
/// long.
pub(super) fn ways(ranks: &[usize], chosen: usize) -> Option<Vec<f64>> {
    let sum: usize = ranks.iter().sum();
    let work = ranks.len().checked_mul(chosen)?.checked_mul(sum + 1)?;
    if work > WORK_MAX {
        return None;
    }
    let mut ways = vec![vec![0.0; sum + 1]; chosen + 1];
    ways.first_mut()?.first_mut().into_iter().for_each(|none| *none = 1.0);
    for rank in ranks {
        for some in (1..=chosen).rev() {
            let (fewer, these) = ways.split_at_mut(some);
            let (Some(fewer), Some(these)) = (fewer.last(), these.first_mut()) else { continue };
            // Each selection without this rank becomes one with it.
            for (here, there) in these.iter_mut().skip(*rank).zip(fewer) {
                *here += *there;
            }
        }
    }
    ways.pop()
}

/// The probability that the sum of `chosen` ranks is at least as far from its mean as that of the
/// first `chosen`.
pub(super) fn two_sided(ranks: &[usize], chosen: usize, seed: u64) -> f64 {
    let whole: usize = ranks.iter().sum();
    // All sums times the number of samples, so that the comparison is between integers.
    let far = |sum: usize| (sum * ranks.len()).abs_diff(whole * chosen);
    let seen = far(ranks.iter().take(chosen).sum());
    if let Some(ways) = ways(ranks, chosen) {
        let all: f64 = ways.iter().sum();
        let extreme = (0..).zip(&ways).filter(|(sum, _)| far(*sum) >= seen);
        return extreme.map(|(_, ways)| ways).sum::<f64>() / all;
    }
    let mut chance = ChaCha12Rng::seed_from_u64(seed);
    let mut shuffled = ranks.to_vec();
    let mut extreme = 1_u32; // the observed selection counts, too
    for _ in 0..SHUFFLES {
        let (drawn, _) = shuffled.partial_shuffle(&mut chance, chosen);
        extreme += u32::from(far(drawn.iter().sum()) >= seen);
    }
    float(u64::from(extreme)) / float(u64::from(SHUFFLES + 1))
}
