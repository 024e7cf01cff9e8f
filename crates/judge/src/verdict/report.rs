//! The report: everything that is said about a run, as `result.json` holds it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::confidence_report::Confidence;
use super::distribution::Distribution;
use super::disturbed_report::DisturbedReport;
use super::reasons::OutageReport;
use super::ruling::{Ruling, Verdict};
use super::telemetry::Telemetry;
use super::upkeep::Upkeep;
use tandem_facts::ids::{FaultId, GroupName, RoleName, TopologyName, TrialNumber};
use tandem_facts::observation::{FaultClass, Outcome};

/// The version of the format.
pub const REPORT_VERSION: u32 = 1;

/// Everything that is said about a run. Instants are in milliseconds since the run's zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The version of the format.
    pub version: u32,
    /// The verdict: assertions, objective, recovery and the run itself, the worst of them.
    pub verdict: Verdict,
    /// Why it is no pass, one sentence each.
    pub reasons: Vec<String>,
    /// How the run ended; null where it was cut off.
    pub outcome: Option<Outcome>,
    /// The experiment.
    pub experiment: String,
    /// The topology.
    pub topology: TopologyName,
    /// What every choice was drawn from.
    pub seed: u64,
    /// How many trials were played to their end, disturbed ones not counted.
    pub trials: u32,
    /// How many were asked for.
    pub trials_asked: u32,
    /// The trials that the host disturbed; nothing where the experiment does not say when one is.
    /// All other numbers of this report leave them out, but for `faults`, `stalls`, `outages` and
    /// `floor_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<DisturbedReport>,
    /// The instrument's floor: what is shorter it cannot tell from nothing. It is the greater of
    /// two numbers of this run: the largest uncertainty of any gap, and the longest time at
    /// the edge of a service that counted as served although no tick was seen in it.
    pub floor_ms: f64,
    /// How far a gap of a group may be from the truth.
    pub uncertainty_ms: Uncertainty,
    /// For how long something could not be observed.
    pub unknown_ms: f64,
    /// How many intervals were still open when their trial ended.
    pub censored: u64,
    /// Each group by itself.
    pub groups: BTreeMap<GroupName, GroupReport>,
    /// All groups together.
    pub joint: JointReport,
    /// What a fault may cost each group, from its configuration: the least and the most.
    pub bounds: BTreeMap<GroupName, BoundsReport>,
    /// What is promised, and whether it held.
    pub objective: Vec<Ruling>,
    /// What the experiment claims, and whether it held.
    pub assertions: Vec<Ruling>,
    /// What the trials say about the faults to come.
    pub confidence: Confidence,
    /// The five longest gaps.
    pub worst: Vec<Worst>,
    /// What was done.
    pub faults: Vec<FaultReport>,
    /// When the host did not let the instrument run.
    pub stalls: Vec<Stall>,
    /// When brokers were lost, or members could not reach theirs, and no fault explains it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<OutageReport>,
    /// What was sent to collectors; nothing where none was named. It is no part of the judgement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<Telemetry>,
    /// Of a topology that is kept up; nothing where it is a run of an experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<Upkeep>,
}

/// How far the gaps of groups may be from the truth, as a sum over both ends of each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Uncertainty {
    /// Half of all gaps of groups are known no worse; overlaps and joint gaps are not counted.
    pub median: Option<f64>,
    /// The gap of a group that is known worst.
    pub max: Option<f64>,
}

/// One group. Its numbers are those of faults; `other` has those of all else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupReport {
    /// What faults caused.
    #[serde(flatten)]
    pub fault: Measures,
    /// What they did not.
    pub other: Others,
    /// What the steps of this experiment may cost the group.
    pub limit: LimitReport,
    /// For how long something could not be observed.
    pub unknown_ms: f64,
}

/// Gaps, overlaps and takeovers of one cause.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Measures {
    /// Nobody served.
    pub gap: Distribution,
    /// Two or more claimed.
    pub overlap: Distribution,
    /// From the instant one life stops serving until another life serves. A member that is started
    /// again is another life, so service also passes from a member to itself.
    pub takeover: Distribution,
}

/// What faults did not cause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Others {
    /// A member that came back.
    pub restart: Measures,
    /// A broker of the run's own that died, and nobody asked it to.
    #[serde(default)]
    pub broker: Measures,
    /// A member that died, and nobody asked it to.
    #[serde(default)]
    pub death: Measures,
    /// A member's process was stopped, and no fault asked for it.
    #[serde(default)]
    pub stop: Measures,
    /// Members were started for the first time.
    #[serde(default)]
    pub start: Measures,
    /// Nothing that is known.
    pub none: Measures,
}

impl GroupReport {
    /// Every cause there is, with what it caused.
    pub fn by_cause(&self) -> impl Iterator<Item = (CauseKind, &Measures)> {
        // Named one by one, so that a cause that is added cannot be forgotten.
        let Self { fault, other, limit: _, unknown_ms: _ } = self;
        let Others { restart, broker, death, stop, start, none } = other;
        [
            (CauseKind::Fault, fault),
            (CauseKind::Restart, restart),
            (CauseKind::Broker, broker),
            (CauseKind::Death, death),
            (CauseKind::Stop, stop),
            (CauseKind::Start, start),
            (CauseKind::None, none),
        ]
        .into_iter()
    }

    /// The causes beside faults that had an effect.
    pub fn others(&self) -> impl Iterator<Item = (CauseKind, &Measures)> {
        let any = |of: &Measures| of.gap.count + of.overlap.count + of.takeover.count > 0;
        let others = self.by_cause().filter(|(cause, _)| *cause != CauseKind::Fault);
        others.filter(move |(_, of)| any(of))
    }
}

/// All groups together, whatever the cause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JointReport {
    /// Nobody served in any group.
    pub gap: Distribution,
    /// Two or more claimed in at least one group.
    pub overlap: Distribution,
    /// In how many groups every role was surely led at every instant of the trials.
    pub leaders_min: Option<i64>,
    /// What the steps of this experiment may cost all groups together.
    pub limit: LimitReport,
    /// For how long something could not be observed.
    pub unknown_ms: f64,
}

/// What the steps of an experiment may cost at most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitReport {
    /// The longest gap; nothing where no bound is known.
    pub gap_ms: Option<f64>,
    /// The longest overlap; nothing where no bound is known.
    pub overlap_ms: Option<f64>,
    /// How much longer the longest gap could have been; less than nothing where it was too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_slack_ms: Option<f64>,
    /// How much longer the longest overlap could have been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap_slack_ms: Option<f64>,
}

/// What each kind of fault may cost a group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoundsReport {
    /// A member dies, or stops without leaving.
    pub kill: BoundReport,
    /// A member leaves, then ends.
    pub leave: BoundReport,
    /// A member is cut off from the brokers.
    pub isolation: BoundReport,
    /// A member is stopped, and wakes.
    pub pause: BoundReport,
    /// A member joins, or comes back.
    pub restart: BoundReport,
    /// The broker that coordinates the group dies.
    pub broker: BoundReport,
}

/// The least and the most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoundReport {
    /// For how long nobody leads.
    pub gap_ms: [f64; 2],
    /// For how long more than one.
    pub overlap_ms: [f64; 2],
}

/// What an interval began with.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    /// A fault.
    Fault,
    /// A member that came back.
    Restart,
    /// A broker that died, stopped or did not answer, and no fault asked for it.
    Broker,
    /// A member that died, and no fault asked for it.
    Death,
    /// A member that was stopped, and no fault asked for it.
    Stop,
    /// Members that were started for the first time.
    Start,
    /// Nothing that is known.
    None,
}

impl CauseKind {
    /// What a row of a table calls it.
    #[must_use]
    pub fn row(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::Restart => "restart",
            Self::Broker => "broker",
            Self::Death => "death",
            Self::Stop => "stop",
            Self::Start => "start",
            Self::None => "no cause",
        }
    }

    /// What such a row counts, where its name does not say it.
    pub(super) fn meaning(self) -> Option<&'static str> {
        match self {
            Self::Fault => None,
            Self::Restart => Some("what it costs that members come back: their roles move"),
            Self::Broker => {
                Some("a broker died, stopped or did not answer, and no fault asked for it")
            }
            Self::Death => Some("a member died, and no fault asked for it"),
            Self::Stop => Some("a member was stopped (SIGSTOP), and no fault asked for it"),
            Self::Start => Some("members joined for the first time: roles move to them"),
            Self::None => Some("nothing that is known explains these"),
        }
    }
}

/// One of the longest gaps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worst {
    /// Whose; the first of the roles that had it.
    pub role: RoleName,
    /// How many roles had it, for they share a partition.
    pub roles: u64,
    /// In which group.
    pub group: GroupName,
    /// In which trial.
    pub trial: TrialNumber,
    /// When it began.
    pub from_ms: f64,
    /// How long it was.
    pub duration_ms: f64,
    /// How far from the truth that may be.
    pub uncertainty_ms: f64,
    /// Its trial ended before it did.
    pub censored: bool,
    /// What it began with.
    pub cause: CauseKind,
    /// Which fault, which life (that was started, stopped or died), or a broker of which cluster.
    pub by: Option<String>,
    /// The longest stall of the host in it.
    pub stall: Option<Stall>,
}

impl Worst {
    /// What it began after.
    #[must_use]
    pub fn after(&self) -> String {
        match (self.cause, &self.by) {
            (CauseKind::Fault, Some(by)) => format!("after fault {by}"),
            (CauseKind::Restart, Some(by)) => format!("after the start of {by}"),
            (CauseKind::Broker, Some(by)) => {
                format!("after the loss of a broker of cluster {by}")
            }
            (CauseKind::Death, Some(by)) => format!("after the death of {by}"),
            (CauseKind::Stop, Some(by)) => format!("after the stop of {by}"),
            (CauseKind::Start, _) => "after the start of the group".to_owned(),
            (CauseKind::None, _)
            | (
                CauseKind::Fault
                | CauseKind::Restart
                | CauseKind::Broker
                | CauseKind::Death
                | CauseKind::Stop,
                None,
            ) => "no cause".to_owned(),
        }
    }
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultReport {
    /// Which.
    pub id: FaultId,
    /// What was done.
    pub kind: String,
    /// What that does to whom it strikes.
    pub class: FaultClass,
    /// In which trial.
    pub trial: TrialNumber,
    /// To whom: lives, as in `p1-1.2`, or brokers' addresses.
    pub target: Vec<String>,
    /// When the first victim was about to be struck.
    pub asked_ms: f64,
    /// When it was known to be in force at the last.
    pub in_force_ms: Option<f64>,
    /// When it was known to be gone from the last.
    pub healed_ms: Option<f64>,
    /// When the last victim was first answered by a broker after that, where it had been cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconnected_ms: Option<f64>,
    /// From the first victim to the last, where it struck several at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew_ms: Option<f64>,
    /// Why it could not be injected or healed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// The host did not let the instrument run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// When it last ran before.
    pub from_ms: f64,
    /// When it ran again.
    pub until_ms: f64,
}
