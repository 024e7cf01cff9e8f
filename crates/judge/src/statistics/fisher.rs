//! Whether two counts have one probability: Fisher's exact test.

use statrs::function::gamma::ln_gamma;

use super::float;

/// Two tables that are as probable as each other, but for rounding, count as such.
const EQUAL: f64 = 1.0 + 1e-7;

/// How probable it is that two series of one probability differ at least as much as `a` of `of_a`
/// and `b` of `of_b`, given how many hits there are together.
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

/// How probable it is by chance that `a` of `of_a` or more of all hits are among the first, where
/// the others are `b` of `of_b`: one-sided.
#[must_use]
pub fn more_often(a: u64, of_a: u64, b: u64, of_b: u64) -> f64 {
    let (a, b) = (a.min(of_a), b.min(of_b));
    let hits = a + b;
    let whole = ln_choose(of_a + of_b, hits);
    let one = |a: u64| (ln_choose(of_a, a) + ln_choose(of_b, hits - a) - whole).exp();
    (a..=hits.min(of_a)).map(one).sum::<f64>().min(1.0)
}

/// The logarithm of the number of ways to choose.
pub(super) fn ln_choose(of: u64, some: u64) -> f64 {
    let ln = |number: u64| ln_gamma(float(number) + 1.0);
    ln(of) - ln(some) - ln(of.saturating_sub(some))
}
