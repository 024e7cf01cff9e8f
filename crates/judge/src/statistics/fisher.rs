//! Whether two counts have the same probability: Fisher's exact test.

use statrs::function::gamma::ln_gamma;

use super::float;

/// Tables whose probabilities differ only by rounding count as equally probable.
const EQUAL: f64 = 1.0 + 1e-7;

/// The probability that two series with one probability differ at least as much as `a` of `of_a`
/// and `b` of `of_b`, given the total number of hits.
#[must_use]
pub(super) fn exact(a: u64, of_a: u64, b: u64, of_b: u64) -> f64 {
    let (a, b) = (a.min(of_a), b.min(of_b));
    let hits = a + b;
    let least = hits.saturating_sub(of_b);
    let most = hits.min(of_a);
    let whole = ln_choose(of_a + of_b, hits);
    let one = |a: u64| (ln_choose(of_a, a) + ln_choose(of_b, hits - a) - whole).exp();
    let seen = one(a) * EQUAL;
    let all = (least..=most).map(one);
    all.filter(|probability| *probability <= seen).sum::<f64>().min(1.0)
}

/// The one-sided probability that by chance `a` or more of all hits are among the first `of_a`
/// trials, where the other `of_b` trials have `b` hits.
#[must_use]
pub fn more_often(a: u64, of_a: u64, b: u64, of_b: u64) -> f64 {
    let (a, b) = (a.min(of_a), b.min(of_b));
    let hits = a + b;
    let whole = ln_choose(of_a + of_b, hits);
    let one = |a: u64| (ln_choose(of_a, a) + ln_choose(of_b, hits - a) - whole).exp();
    (a..=hits.min(of_a)).map(one).sum::<f64>().min(1.0)
}

/// The logarithm of the binomial coefficient.
pub(super) fn ln_choose(of: u64, some: u64) -> f64 {
    let ln = |number: u64| ln_gamma(float(number) + 1.0);
    ln(of) - ln(some) - ln(of.saturating_sub(some))
}
