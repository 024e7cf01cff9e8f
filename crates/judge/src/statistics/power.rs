//! Which differences two runs with a number of trials can detect: how much longer the samples of
//! one must be, or in how many of its trials an event must happen.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;

use super::fisher::exact;
use super::{float, shift};

/// The number of simulated pairs of runs.
const DRAWN: usize = 400;
/// The limit on the size of simulated sets. The detectable shift of larger sets shrinks with the
/// square root of their size.
const SIZE_MAX: usize = 100;

/// By how much the samples of one set must be longer for the rank test at level `most` to detect it
/// in a share `power` of all pairs. Pairs are drawn from both sets, each centred on its own median,
/// so that an actual difference does not matter. None if no shift is detectable.
#[must_use]
pub fn shift_shown(a: &[f64], b: &[f64], most: f64, power: f64, seed: u64) -> Option<f64> {
    let pool: Vec<f64> = [a, b].into_iter().flat_map(around_median).collect();
    if pool.is_empty() {
        return None;
    }
    let (drawn_a, drawn_b) = (a.len().min(SIZE_MAX), b.len().min(SIZE_MAX));
    let rank = shift::outside(drawn_a, drawn_b, most / 2.0)?.checked_sub(1)?;
    let mut chance = ChaCha12Rng::seed_from_u64(seed);
    let mut least: Vec<f64> = Vec::with_capacity(DRAWN);
    for _ in 0..DRAWN {
        let (a, b) = (draw(&pool, drawn_a, &mut chance), draw(&pool, drawn_b, &mut chance));
        let mut less: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| a - b)).collect();
        if rank >= less.len() {
            return None;
        }
        let (_, shown, _) = less.select_nth_unstable_by(rank, |a, b| b.total_cmp(a));
        least.push(*shown);
    }
    least.sort_by(f64::total_cmp);
    let all = float(u64::try_from(least.len()).ok()?);
    let place = (0..).zip(&least).find(|(place, _)| float(*place) + 1.0 >= power * all);
    let spread = |a: usize, b: usize| {
        let size = |of: usize| float(u64::try_from(of).unwrap_or(u64::MAX));
        (1.0 / size(a) + 1.0 / size(b)).sqrt()
    };
    let scale = spread(a.len(), b.len()) / spread(drawn_a, drawn_b);
    place.map(|(_, shown)| shown.max(0.0) * scale)
}

/// In how many of `trials` an event must happen to be detected at level `most`, given `a` hits in
/// so many trials of the other run; none if even all are not enough.
#[must_use]
pub fn count_shown(a: (u64, u64), trials: u64, most: f64) -> Option<u64> {
    let more = |hits: &u64| float(*hits) * float(a.1) > float(a.0) * float(trials);
    (0..=trials).filter(more).find(|hits| exact(a.0, a.1, *hits, trials) <= most)
}

/// The finite samples minus their median.
fn around_median(samples: &[f64]) -> Vec<f64> {
    let mut all: Vec<f64> = samples.iter().copied().filter(|it| it.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    let middle = all.len().div_ceil(2).checked_sub(1).and_then(|middle| all.get(middle)).copied();
    all.iter().map(|sample| sample - middle.unwrap_or_default()).collect()
}

fn draw(pool: &[f64], count: usize, chance: &mut ChaCha12Rng) -> Vec<f64> {
    let size = u64::try_from(pool.len()).unwrap_or(u64::MAX).max(1);
    let mut one = || usize::try_from(chance.next_u64() % size).ok();
    (0..count).filter_map(|_| pool.get(one()?)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::two_samples::compare;

    fn samples(count: u64, seed: u64) -> Vec<f64> {
        (0..count).map(|it| float(900 + (it * 7_919 + seed * 104_729) % 211)).collect()
    }

    #[test]
    fn a_detectable_shift_shows_four_times_of_five() {
        let base = samples(40, 1);
        let shown = shift_shown(&base[..15], &base[..15], 0.005, 0.8, 1).unwrap();
        let mut chance = ChaCha12Rng::seed_from_u64(7);
        let rejects = |by: f64, chance: &mut ChaCha12Rng| {
            let found = (0..200).filter(|_| {
                let a = draw(&base, 15, chance);
                let b: Vec<f64> = draw(&base, 15, chance).iter().map(|it| it + by).collect();
                compare(&a, &b, 0.95, 1).unwrap().p <= 0.005
            });
            found.count()
        };
        let (enough, half) = (rejects(shown, &mut chance), rejects(shown / 2.0, &mut chance));
        assert!((130..=190).contains(&enough), "{shown}: {enough} of 200");
        assert!(half < 80, "half of it shows {half} of 200 times");
    }

    #[test]
    fn more_trials_show_less_and_too_few_show_nothing() {
        let of = |count: u64| {
            let all = samples(count, 1);
            shift_shown(&all, &all, 0.005, 0.8, 1)
        };
        assert_eq!((of(0), of(3)), (None, None));
        let (few, many, most) = (of(8).unwrap(), of(40).unwrap(), of(400).unwrap());
        assert!(few > many && many > most && most > 0.0, "{few} {many} {most}");
    }

    #[test]
    fn a_count_shows_from_where_fishers_test_says_so() {
        let shown = count_shown((0, 30), 30, 0.05).unwrap();
        assert!(exact(0, 30, shown, 30) <= 0.05 && exact(0, 30, shown - 1, 30) > 0.05, "{shown}");
        assert_eq!(count_shown((0, 3), 3, 0.05), None);
        assert_eq!(count_shown((8, 8), 8, 0.05), None);
    }
}
