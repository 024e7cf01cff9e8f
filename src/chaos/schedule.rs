//! What one trial does and when. Every draw is made here, from the seed and the trial's number.

use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

use super::{Experiment, Series, Step, Trigger, series};
use crate::ids::{StepId, TrialNumber};
use crate::topology::Plan;

/// The strikes of one trial, in the order of the method.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// One per step; for a series, one per strike.
    pub strikes: Vec<Strike>,
}

/// When a step strikes, and the seed of its choice of victims.
#[derive(Debug, Clone, PartialEq)]
pub struct Strike {
    /// The step.
    pub step: Step,
    /// What `delay` counts from: this step being in force, or the trial's beginning if `None`.
    pub after: Option<StepId>,
    /// The delay, jitter included.
    pub delay: Duration,
    /// Waits until this strike is over and everything has settled again.
    pub once_settled: Option<StepId>,
    /// Whether the fault was drawn.
    pub drawn: bool,
    /// The seed of the choice of victims.
    pub seed: u64,
}

impl Schedule {
    /// Draws the schedule of one trial on this plan.
    #[must_use]
    pub fn draw(experiment: &Experiment, plan: &Plan, seed: u64, trial: TrialNumber) -> Self {
        let limits = experiment.limits.or(plan.limits);
        let mut strikes = Vec::new();
        for step in &experiment.method {
            let mut chance = chance(seed, trial, &step.id);
            let first = Strike::draw(step, &mut chance);
            match step.fault.series() {
                Some(Series::Drawn(storm)) => {
                    strikes.extend(series::storm(&first, storm, plan, limits, &mut chance));
                }
                Some(Series::InTurn(_)) => strikes.extend(series::rollout(&first, plan)),
                None => strikes.push(first),
            }
        }
        Self { strikes }
    }
}

impl Strike {
    fn draw(step: &Step, chance: &mut ChaCha12Rng) -> Self {
        // Drawn first, so that adding or removing a jitter does not change the victims.
        let seed = chance.next_u64();
        let jitter = u64::try_from(step.jitter.get().as_nanos()).unwrap_or(u64::MAX);
        let jitter = if jitter == 0 { 0 } else { chance.random_range(0..jitter) };
        let (after, delay) = match &step.trigger {
            Trigger::At(at) => (None, *at),
            Trigger::After(step, delay) => (Some(step.clone()), *delay),
        };
        let delay = delay.get().saturating_add(Duration::from_nanos(jitter));
        Self { step: step.clone(), after, delay, once_settled: None, drawn: false, seed }
    }
}

/// Every step of every trial draws from a stream of its own, so that adding a step does not change
/// the others.
fn chance(seed: u64, trial: TrialNumber, step: &StepId) -> ChaCha12Rng {
    let mut key = [0; 32];
    let parts = seed.to_le_bytes().into_iter().chain(trial.0.to_le_bytes());
    for (byte, part) in key.iter_mut().zip(parts) {
        *byte = part;
    }
    let mut chance = ChaCha12Rng::from_seed(key);
    chance.set_stream(fnv(step.as_str()));
    chance
}

/// FNV-1a, because the hash must not change with the version of a library.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
