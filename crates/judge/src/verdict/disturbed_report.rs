//! The trials that the host disturbed, as `result.json` holds them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ruling::Verdict;
use tandem_facts::ids::{Life, TrialNumber};

/// The trials that the host disturbed: kept, counted apart, and replaced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DisturbedReport {
    /// A trial is disturbed where the host kept the instrument or a member from running for longer.
    pub stall_ms: f64,
    /// At most so many further trials may be played in the place of disturbed ones.
    pub replace: u32,
    /// So many were.
    pub replaced: u32,
    /// Every disturbed trial, in order, whatever its outcome.
    pub trials: Vec<DisturbedTrial>,
    /// How many of them failed.
    pub failed: u64,
    /// How many trials were not disturbed.
    pub undisturbed: u64,
    /// How many of those failed, each judged alone.
    pub undisturbed_failed: u64,
    /// How probable it is that by chance so many of the failures are among the disturbed, or more:
    /// Fisher's exact test, one-sided. Nothing where no trial was disturbed, or all were.
    pub p_value: Option<f64>,
    /// At this value of `p_value` and below, the verdict is no pass.
    pub alpha: f64,
    /// The verdict over all trials, disturbed ones included; `verdict` is over the others.
    pub verdict_all: Verdict,
    /// Why `verdict_all` is no pass, one sentence each.
    pub reasons_all: Vec<String>,
}

/// A trial that the host disturbed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DisturbedTrial {
    /// Which.
    pub trial: TrialNumber,
    /// What is said of it where it is judged alone.
    pub outcome: Verdict,
    /// Why that is no pass, one sentence each.
    pub reasons: Vec<String>,
    /// For how long, at the longest, the host kept a thread from running.
    pub stalled_ms: f64,
    /// How late that thread was, whoever is to blame.
    pub late_ms: f64,
    /// Whose thread it was; null for the controller's canary.
    pub whom: Option<Life>,
}

impl DisturbedReport {
    /// How many trials there were.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.undisturbed + u64::try_from(self.trials.len()).unwrap_or(u64::MAX)
    }
}

impl DisturbedTrial {
    /// Whose thread the host held up, in words.
    pub fn whose(&self) -> String {
        self.whom.as_ref().map_or_else(|| "the controller".to_owned(), ToString::to_string)
    }
}
