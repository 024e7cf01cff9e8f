//! What the trials say about those to come: against a reference, by simulation, and in the report.
//! The reference is SciPy; only to ask it again takes Python with venv.

#![allow(
    clippy::float_cmp,
    clippy::as_conversions,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::type_complexity,
    reason = "a test may fail loudly"
)]

mod coverage;
mod known;
mod recent;
mod reference;
mod report;
mod stopping;

use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;

/// What every test here draws from.
const SEED: u64 = 20_261_121;

fn chance() -> ChaCha12Rng {
    ChaCha12Rng::seed_from_u64(SEED)
}

/// How far a share of so many simulations may be from the truth: three standard deviations.
fn error(share: f64, simulations: u32) -> f64 {
    3.0 * (share * (1.0 - share) / f64::from(simulations)).sqrt()
}
