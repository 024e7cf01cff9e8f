//! What a number of trials says about future ones: exact intervals, distribution-free tests, and a
//! rule for stopping early that keeps its error rate. Pure; all random numbers come from a seed.
//!
//! - [`binomial`]: an interval for a probability, from `k` hits in `n` trials.
//! - [`quantile`]: an interval for a quantile, between two of the samples.
//! - [`sequential`]: when a claim may be made before the last trial.
//! - [`two_samples`]: whether two sets of samples have the same distribution.
//! - [`fisher`]: whether two counts have the same probability.
//! - [`power`]: which differences a number of trials can detect.
//! - [`correlation`]: whether groups that should fail independently fail together.
//!
//! All functions assume independent samples. The intervals of one trial are not independent, so a
//! caller passes one number per trial.

pub mod binomial;
pub mod correlation;
pub mod fisher;
mod null;
pub mod power;
pub mod quantile;
pub mod sequential;
mod shift;
pub mod two_samples;

/// The ends of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ends {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A number as a float, exact below 2^53.
#[must_use]
pub fn float(number: u64) -> f64 {
    let half = |bits: u64| f64::from(u32::try_from(bits & 0xffff_ffff).unwrap_or(u32::MAX));
    half(number >> 32) * 4_294_967_296.0 + half(number)
}

/// The length of a list, as a float.
pub fn size<T>(list: &[T]) -> f64 {
    float(u64::try_from(list.len()).unwrap_or(u64::MAX))
}
