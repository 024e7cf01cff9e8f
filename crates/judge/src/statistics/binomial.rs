//! Counts of trials: exact intervals for a probability (Clopper and Pearson, 1934), by the beta
//! distribution.

use statrs::function::beta::checked_beta_reg;

use super::{Ends, float};

/// Halvings of an interval until no float lies between its ends.
const HALVINGS: u32 = 1_100;

/// The probability that at most `hits` of `trials` have what each has with `probability`.
#[must_use]
pub fn at_most(hits: u64, trials: u64, probability: f64) -> f64 {
    if hits >= trials || probability <= 0.0 {
        return 1.0;
    }
    if probability >= 1.0 {
        return 0.0;
    }
    // Not by the sum of its terms: they are many, and some too small to be told.
    let (a, b) = (float(trials - hits), float(hits) + 1.0);
    checked_beta_reg(a, b, 1.0 - probability).unwrap_or(0.0)
}

/// The probability that at least `hits` of `trials` have it.
fn at_least(hits: u64, trials: u64, probability: f64) -> f64 {
    if hits == 0 || probability >= 1.0 {
        return 1.0;
    }
    if hits > trials || probability <= 0.0 {
        return 0.0;
    }
    checked_beta_reg(float(hits), float(trials - hits) + 1.0, probability).unwrap_or(0.0)
}

/// Between which probabilities the truth lies where `hits` of `trials` had it: in at least
/// `confidence` of all such series, half of the others beyond each end. Nothing without a trial.
#[must_use]
pub fn proportion(hits: u64, trials: u64, confidence: f64) -> Option<Ends> {
    let tail = (1.0 - confidence) / 2.0;
    (trials > 0 && hits <= trials)
        .then(|| Ends { low: lowest(hits, trials, tail), high: highest(hits, trials, tail) })
}

/// The most that the probability can be: in at least `confidence` of all such series it is no more.
/// Where none had it that is `1 - (1 - confidence)^(1/trials)`. Nothing without a trial.
#[must_use]
pub fn upper(hits: u64, trials: u64, confidence: f64) -> Option<f64> {
    (trials > 0 && hits <= trials).then(|| highest(hits, trials, 1.0 - confidence))
}

/// How many trials without a hit it takes to say, with `confidence`, that the probability is below
/// `limit`; nothing where no number will do.
#[must_use]
pub fn trials_needed(limit: f64, confidence: f64) -> Option<u64> {
    if !(limit > 0.0 && confidence < 1.0) {
        return None;
    }
    let enough = |trials| at_most(0, trials, limit) <= 1.0 - confidence;
    least(1, 1 << 40, enough)
}

fn lowest(hits: u64, trials: u64, tail: f64) -> f64 {
    if hits == 0 {
        return 0.0;
    }
    solve(|probability| at_least(hits, trials, probability) < tail)
}

fn highest(hits: u64, trials: u64, tail: f64) -> f64 {
    if hits >= trials {
        return 1.0;
    }
    if hits == 0 {
        return -(tail.ln() / float(trials)).exp_m1();
    }
    solve(|probability| at_most(hits, trials, probability) > tail)
}

/// Where, between 0 and 1, `below` ceases to hold.
pub(super) fn solve(below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if below(middle) { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The least number from `from` on, below `end`, from which on `enough` holds.
pub(super) fn least(from: u64, end: u64, enough: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut low, mut high) = (from, end);
    while low < high {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    (low < end).then_some(low)
}
