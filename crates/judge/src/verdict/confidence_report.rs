//! What the trials say about those to come, as `result.json` holds it. What older results do not
//! have is absent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use tandem_facts::ids::GroupName;

/// How sure everything here is, unless the experiment says otherwise.
pub(super) const LEVEL: f64 = 0.95;

/// What the trials say about those to come. Shares and probabilities are between 0 and 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confidence {
    /// How many trials were played to their end, with every fault in force, and fully observed.
    pub trials: u64,
    /// In how many of them there was a joint gap.
    pub with_joint_gap: u64,
    /// The most that the probability of a joint gap in a trial can be, at this level, exact and
    /// one-sided; told where none was found, and where a claim was made that the run went on for.
    pub probability_max: Option<f64>,
    /// How sure all of this is: of so many such runs what is said is true.
    #[serde(default = "level")]
    pub level: f64,
    /// Between what the probability of a joint gap in a trial lies, two-sided, where some were
    /// found (Clopper and Pearson); not told of a run that went on until a claim held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<ProbabilityReport>,
    /// How many trials without a joint gap it takes to say that fewer than one in a hundred has
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials_needed: Option<u64>,
    /// The longest interval of each trial that faults caused in a group: how its quantiles may lie.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub longest: BTreeMap<GroupName, LongestReport>,
    /// Whether the groups fail together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<CorrelationReport>,
    /// The claim that the run went on for, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopping: Option<StoppingReport>,
}

impl Confidence {
    /// Where no trial was repeated, so that nothing follows for others.
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

/// Between two probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbabilityReport {
    /// At least.
    pub low: f64,
    /// At most.
    pub high: f64,
}

/// The longest gap, overlap and takeover of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LongestReport {
    /// Nobody served.
    pub gap: QuantilesReport,
    /// Two or more claimed.
    pub overlap: QuantilesReport,
    /// From one leader to the next.
    pub takeover: QuantilesReport,
}

/// How the quantiles of a distribution may lie, whatever its form: from one sample to another, by
/// their ranks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantilesReport {
    /// How many trials were observed.
    pub trials: u64,
    /// How many of them had such an interval: the samples.
    pub samples: u64,
    /// Half of such trials have none that is longer.
    pub p50: QuantileReport,
    /// Nineteen of twenty have none that is longer.
    pub p95: QuantileReport,
    /// Ninety-nine of a hundred have none that is longer.
    pub p99: QuantileReport,
}

/// How one quantile may lie.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantileReport {
    /// At least so long; null where there are too few samples.
    pub low_ms: Option<f64>,
    /// At most so long; null where there are too few samples, or that one was still open when its
    /// trial ended.
    pub high_ms: Option<f64>,
    /// How many samples it takes.
    pub samples_needed: Option<u64>,
}

/// The share of time in which no group served a role, over the product of the groups' own shares: 1
/// where groups fail independently, more where they share a fate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CorrelationReport {
    /// That number; null where it is undefined.
    pub ratio: Option<f64>,
    /// At least, by a bootstrap over trials, which is approximate; null where too few trials had a
    /// joint gap.
    pub low: Option<f64>,
    /// At most.
    pub high: Option<f64>,
    /// Why something of it is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The claim that a run went on for, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoppingReport {
    /// The claim.
    pub claim: String,
    /// So many trials at least.
    pub trials_min: u32,
    /// So many at most.
    pub trials_max: u32,
    /// After how many trials it could be made: without a joint gap at the first of these, with at
    /// most one at the second, and so on. They were fixed before the first trial, and share the
    /// error between them.
    pub looks: Vec<u64>,
    /// What became of it.
    pub outcome: StoppingOutcome,
    /// Why the run stopped where it did.
    pub why: String,
}

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoppingOutcome {
    /// It holds.
    Claimed,
    /// It could not be made any more.
    Hopeless,
    /// The run ended before it could be told.
    Open,
}
