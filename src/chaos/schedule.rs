//! What one trial does and when: every draw is made here, from the seed and the trial's number.

use std::time::Duration;

use super::{Experiment, Step};
use crate::ids::{StepId, TrialNumber};

/// The strikes of one trial, in the order of the method.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// One a step.
    pub strikes: Vec<Strike>,
}

/// When a step strikes, and the seed of its choice of victims.
#[derive(Debug, Clone, PartialEq)]
pub struct Strike {
    /// What is done.
    pub step: Step,
    /// Since when `delay` counts: the trial's beginning, or the step that must be in force first.
    pub after: Option<StepId>,
    /// How long after that, the jitter drawn.
    pub delay: Duration,
    /// Seeds the choice among those that the target allows.
    pub seed: u64,
}

impl Schedule {
    /// Draws the schedule of one trial.
    #[must_use]
    pub fn draw(_experiment: &Experiment, _seed: u64, _trial: TrialNumber) -> Self {
        Self { strikes: Vec::new() }
    }
}
