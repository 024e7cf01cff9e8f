//! How a sum of ranks is spread where it is chance alone which samples are whose: exactly where
//! that is affordable, else by so many seeded shuffles.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;

use super::float;

/// The exact spread takes no more additions than this.
const WORK_MAX: usize = 20_000_000;
/// So many shuffles otherwise.
const SHUFFLES: u32 = 20_000;

/// For each sum of `chosen` of these ranks, in how many ways it comes about; nothing where that
/// would take too long.
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
            // With this rank a smaller choice becomes this one.
            for (here, there) in these.iter_mut().skip(*rank).zip(fewer) {
                *here += *there;
            }
        }
    }
    ways.pop()
}

/// How probable a sum of the first `chosen` ranks is that lies at least as far from its mean.
pub(super) fn two_sided(ranks: &[usize], chosen: usize, seed: u64) -> f64 {
    let whole: usize = ranks.iter().sum();
    // Sum times samples less its mean times samples: whole numbers, so that equal is equal.
    let far = |sum: usize| (sum * ranks.len()).abs_diff(whole * chosen);
    let seen = far(ranks.iter().take(chosen).sum());
    if let Some(ways) = ways(ranks, chosen) {
        let all: f64 = ways.iter().sum();
        let extreme = (0..).zip(&ways).filter(|(sum, _)| far(*sum) >= seen);
        return extreme.map(|(_, ways)| ways).sum::<f64>() / all;
    }
    let mut chance = ChaCha12Rng::seed_from_u64(seed);
    let mut shuffled = ranks.to_vec();
    let mut extreme = 1_u32; // what was seen is one of them
    for _ in 0..SHUFFLES {
        let (drawn, _) = shuffled.partial_shuffle(&mut chance, chosen);
        extreme += u32::from(far(drawn.iter().sum()) >= seen);
    }
    float(u64::from(extreme)) / float(u64::from(SHUFFLES + 1))
}
