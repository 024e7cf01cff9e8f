//! Exact intervals for a probability from a count of trials (Clopper and Pearson, 1934), by the
//! beta distribution.

use statrs::function::beta::checked_beta_reg;

use super::{Ends, float};

/// The number of bisections until no float lies between the ends of an interval.
const HALVINGS: u32 = 1_100;

/// The probability of at most `hits` hits in `trials` trials, each of which hits with
/// `probability`.
#[must_use]
pub fn at_most(hits: u64, trials: u64, probability: f64) -> f64 {
    if hits >= trials || probability <= 0.0 {
        return 1.0;
    }
    if probability >= 1.0 {
        return 0.0;
    }
    // Not as the sum of its terms: there are many, and some are too small for a float.
    let (a, b) = (float(trials - hits), float(hits) + 1.0);
    checked_beta_reg(a, b, 1.0 - probability).unwrap_or(0.0)
}

/// The probability of at least `hits` hits in `trials` trials.
fn at_least(hits: u64, trials: u64, probability: f64) -> f64 {
    if hits == 0 || probability >= 1.0 {
        return 1.0;
    }
    if hits > trials || probability <= 0.0 {
        return 0.0;
    }
    checked_beta_reg(float(hits), float(trials - hits) + 1.0, probability).unwrap_or(0.0)
}

/// A confidence interval for the probability of a hit after `hits` of `trials`. At least
/// `confidence` of all such intervals contain the probability; the others miss it equally often on
/// each side. None without a trial.
#[must_use]
pub fn proportion(hits: u64, trials: u64, confidence: f64) -> Option<Ends> {
    let tail = (1.0 - confidence) / 2.0;
    (trials > 0 && hits <= trials)
        .then(|| Ends { low: lowest(hits, trials, tail), high: highest(hits, trials, tail) })
}

/// A one-sided upper bound on the probability of a hit: at least `confidence` of all such bounds
/// hold. Without a hit it is `1 - (1 - confidence)^(1/trials)`. None without a trial.
#[must_use]
pub fn upper(hits: u64, trials: u64, confidence: f64) -> Option<f64> {
    (trials > 0 && hits <= trials).then(|| highest(hits, trials, 1.0 - confidence))
}

/// The number of trials without a hit that shows, with `confidence`, a probability below `limit`;
/// none if no number does.
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

/// The point between 0 and 1 at which `below` stops to hold.
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

/// The least number in `from..end` from which on `enough` holds.
pub(super) fn least(from: u64, end: u64, enough: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut low, mut high) = (from, end);
    while low < high {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    (low < end).then_some(low)
}
