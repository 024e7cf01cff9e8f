//! What a number of trials says about those to come: exact intervals, tests that assume no
//! distribution, and a rule for stopping early that errs no more often than it says. Pure; what is
//! drawn is drawn from a seed.
//!
//! - [`binomial`]: of `n` trials `k` had it: between which probabilities the truth lies.
//! - [`quantile`]: between which of the samples a quantile of their distribution lies.
//! - [`sequential`]: when a claim may be made before the last trial.
//! - [`two_samples`]: whether two sets of samples come from one distribution.
//! - [`fisher`]: whether two counts have one probability.
//! - [`power`]: what so many trials can tell apart.
//! - [`correlation`]: whether what should fail apart fails together.
//!
//! All of it takes samples for independent of each other. Intervals of one trial are not, so
//! whoever asks hands in one number a trial.

pub mod binomial;
pub mod correlation;
pub mod fisher;
mod null;
pub mod power;
pub mod quantile;
pub mod sequential;
mod shift;
pub mod two_samples;

/// Two ends, the lower first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ends {
    /// The lower.
    pub low: f64,
    /// The upper.
    pub high: f64,
}

/// A number as a float, exact below 2^53.
#[must_use]
pub fn float(number: u64) -> f64 {
    let half = |bits: u64| f64::from(u32::try_from(bits & 0xffff_ffff).unwrap_or(u32::MAX));
    half(number >> 32) * 4_294_967_296.0 + half(number)
}

/// The number of things in a list, as a float.
pub fn size<T>(list: &[T]) -> f64 {
    float(u64::try_from(list.len()).unwrap_or(u64::MAX))
}
