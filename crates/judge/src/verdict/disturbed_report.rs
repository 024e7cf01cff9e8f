//! The trials that the host disturbed, in the format of `result.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ruling::Verdict;
use tandem_facts::ids::{Life, TrialNumber};

/// The trials that the host disturbed: kept, counted separately, and replaced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DisturbedReport {
    /// A trial is disturbed if the host kept the instrument or a member from running for longer
    /// than this.
    pub stall_ms: f64,
    /// The greatest number of further trials that replace disturbed ones.
    pub replace: u32,
    /// The number of further trials.
    pub replaced: u32,
    /// Every disturbed trial, in order, with any outcome.
    pub trials: Vec<DisturbedTrial>,
    /// The number of disturbed trials that failed.
    pub failed: u64,
    /// The number of undisturbed trials.
    pub undisturbed: u64,
    /// The number of undisturbed trials that failed, each judged alone.
    pub undisturbed_failed: u64,
    /// The probability that by chance at least this many of the failures are among the disturbed
    /// trials: Fisher's exact test, one-sided. None if no trial was disturbed, or all were.
    pub p_value: Option<f64>,
    /// If `p_value` is at most this, the verdict cannot be pass.
    pub alpha: f64,
    /// The verdict over all trials, disturbed ones included; `verdict` is over the others.
    pub verdict_all: Verdict,
    /// Why `verdict_all` is not pass, one sentence each.
    pub reasons_all: Vec<String>,
}

/// A trial that the host disturbed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DisturbedTrial {
    /// The number of the trial.
    pub trial: TrialNumber,
    /// The verdict on the trial alone.
    pub outcome: Verdict,
    /// Why that is not pass, one sentence each.
    pub reasons: Vec<String>,
    /// The longest time for which the host kept a thread from running.
    pub stalled_ms: f64,
    /// The whole delay of that thread, from all causes.
    pub late_ms: f64,
    /// The life of that thread; null for the controller's canary.
    #[serde(rename = "whom")]
    pub life: Option<Life>,
}

impl DisturbedReport {
    /// The number of trials.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.undisturbed + u64::try_from(self.trials.len()).unwrap_or(u64::MAX)
    }
}

impl DisturbedTrial {
    /// The owner of the delayed thread, in words.
    pub fn whose(&self) -> String {
        self.life.as_ref().map_or_else(|| "the controller".to_owned(), ToString::to_string)
    }
}
