//! What the trials say about future ones, in the format of `result.json`. Fields that older results
//! lack are optional.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use tandem_facts::ids::GroupName;

/// The confidence level, unless the experiment sets another.
pub(super) const LEVEL: f64 = 0.95;

/// What the trials say about future ones. Shares and probabilities are between 0 and 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confidence {
    /// The number of trials that ran to their end, with every fault in force and fully observed.
    pub trials: u64,
    /// The number of these trials with a joint gap.
    pub with_joint_gap: u64,
    /// An exact, one-sided upper bound on the probability of a joint gap in a trial. Present if no
    /// joint gap was found, or if the run ended with its claim.
    pub probability_max: Option<f64>,
    /// The confidence level of all intervals here.
    #[serde(default = "level")]
    pub level: f64,
    /// A two-sided interval for the probability of a joint gap in a trial (Clopper and Pearson).
    /// Present if joint gaps were found, and the run did not go on for a claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<ProbabilityReport>,
    /// The number of trials without a joint gap that shows that fewer than one in a hundred has
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials_needed: Option<u64>,
    /// For each group, the quantiles of the longest interval per trial that faults caused.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub longest: BTreeMap<GroupName, LongestReport>,
    /// Whether the groups fail together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<CorrelationReport>,
    /// The claim for which the run went on, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopping: Option<StoppingReport>,
}

impl Confidence {
    /// For a run without repeated trials, which says nothing about others.
    pub(super) fn none() -> Self {
        Self {
            trials: 0,
            with_joint_gap: 0,
            probability_max: None,
            level: LEVEL,
            probability: None,
            trials_needed: None,
            longest: BTreeMap::new(),
            correlation: None,
            stopping: None,
        }
    }
}

fn level() -> f64 {
    LEVEL
}

/// An interval for a probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbabilityReport {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The longest gap, overlap and takeover per trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LongestReport {
    /// No member served.
    pub gap: QuantilesReport,
    /// Two or more members claimed.
    pub overlap: QuantilesReport,
    /// From one leader to the next.
    pub takeover: QuantilesReport,
}

/// Intervals for the quantiles of a distribution of any form: from one sample to another, by rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantilesReport {
    /// The number of observed trials.
    pub trials: u64,
    /// The number of them with such an interval, which is the number of samples.
    pub samples: u64,
    /// The median.
    pub p50: QuantileReport,
    /// The 95th percentile.
    pub p95: QuantileReport,
    /// The 99th percentile.
    pub p99: QuantileReport,
}

/// An interval for one quantile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantileReport {
    /// The lower end; null if there are too few samples.
    pub low_ms: Option<f64>,
    /// The upper end; null if there are too few samples, or if that sample was still open when its
    /// trial ended.
    pub high_ms: Option<f64>,
    /// The number of samples that the interval needs.
    pub samples_needed: Option<u64>,
}

/// The share of time in which no group served a role, divided by the product of the groups' own
/// shares: 1 if groups fail independently, more if they share a fate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CorrelationReport {
    /// The ratio; null if it is undefined.
    pub ratio: Option<f64>,
    /// The lower end of an approximate interval, by a bootstrap over trials; null if too few trials
    /// had a joint gap.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Why a part is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The claim for which a run went on, and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoppingReport {
    /// The claim.
    pub claim: String,
    /// The least number of trials.
    pub trials_min: u32,
    /// The greatest number of trials.
    pub trials_max: u32,
    /// The numbers of trials after which the claim can be made: at the first without a joint gap,
    /// at the second with at most one, and so on. They were fixed before the first trial, and share
    /// the error.
    pub looks: Vec<u64>,
    /// The outcome.
    pub outcome: StoppingOutcome,
    /// Why the run stopped.
    pub why: String,
}

/// The outcome of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoppingOutcome {
    /// The claim holds.
    Claimed,
    /// The claim can no longer hold.
    Hopeless,
    /// The run ended before the claim was decided.
    Open,
}
