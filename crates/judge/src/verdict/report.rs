//! The report on a run, in the format of `result.json`.

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
use crate::timeline::CauseKind;
use tandem_facts::ids::{FaultId, GroupName, RoleName, TopologyName, TrialNumber};
use tandem_facts::observation::{FaultClass, Outcome};

/// The version of the format.
pub const REPORT_VERSION: u32 = 1;

/// The report on a run. Instants are in milliseconds since the run's zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The version of the format.
    pub version: u32,
    /// The verdict: the worst of assertions, objective, recovery and the run itself.
    pub verdict: Verdict,
    /// Why the verdict is not pass, one sentence each.
    pub reasons: Vec<String>,
    /// How the run ended; null if it was cut off.
    pub outcome: Option<Outcome>,
    /// The experiment.
    pub experiment: String,
    /// The topology.
    pub topology: TopologyName,
    /// The seed of all random choices.
    pub seed: u64,
    /// The number of trials that ran to their end, without disturbed ones.
    pub trials: u32,
    /// The number of requested trials.
    pub trials_asked: u32,
    /// The trials that the host disturbed; none if the experiment has no rule for it. All other
    /// numbers of this report leave them out, except for `faults`, `stalls`, `outages` and
    /// `floor_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<DisturbedReport>,
    /// The instrument's floor: shorter gaps may be missed. It is the greater of two numbers of this
    /// run: the largest uncertainty of any gap, and the longest time at the edge of a service that
    /// counted as served without a tick.
    pub floor_ms: f64,
    /// The uncertainty of the gaps of groups.
    pub uncertainty_ms: Uncertainty,
    /// The total time that could not be observed.
    pub unknown_ms: f64,
    /// The number of intervals that were still open when their trial ended.
    pub censored: u64,
    /// Each group.
    pub groups: BTreeMap<GroupName, GroupReport>,
    /// All groups together.
    pub joint: JointReport,
    /// The bounds on the cost of a fault to each group, from its configuration.
    pub bounds: BTreeMap<GroupName, BoundsReport>,
    /// The rulings on the objective.
    pub objective: Vec<Ruling>,
    /// The rulings on the experiment's claims.
    pub assertions: Vec<Ruling>,
    /// What the trials say about future faults.
    pub confidence: Confidence,
    /// The five longest gaps.
    pub worst: Vec<Worst>,
    /// The faults that were injected.
    pub faults: Vec<FaultReport>,
    /// When the host did not schedule the instrument.
    pub stalls: Vec<Stall>,
    /// When brokers were lost, or members could not reach theirs, without a fault that explains it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<OutageReport>,
    /// What was sent to telemetry collectors; none without a collector. It does not affect the
    /// verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<Telemetry>,
    /// For a topology that is kept up; none for a run of an experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<Upkeep>,
}

/// The uncertainty of the gaps of groups, as a sum over both ends of each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Uncertainty {
    /// The median over all gaps of groups; overlaps and joint gaps do not count.
    pub median: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
}

/// One group. Its numbers are those of faults; `other` has those of all other causes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupReport {
    /// The intervals that faults caused.
    #[serde(flatten)]
    pub fault: Measures,
    /// The intervals of all other causes.
    pub other: Others,
    /// Whether its election promises that no role has two leaders.
    #[serde(default)]
    pub exclusive: bool,
    /// The bounds on the cost of this experiment's steps to the group.
    pub limit: LimitReport,
    /// The total time that could not be observed.
    pub unknown_ms: f64,
}

/// Gaps, overlaps and takeovers of one cause.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Measures {
    /// No member served.
    pub gap: Distribution,
    /// Two or more members claimed.
    pub overlap: Distribution,
    /// From the instant one life stops serving until another life serves. A restarted member is
    /// another life, so service can pass from a member to itself.
    pub takeover: Distribution,
}

/// The intervals of causes other than faults.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Others {
    /// A member was restarted.
    pub restart: Measures,
    /// A broker died without being asked to.
    #[serde(default)]
    pub broker: Measures,
    /// A member died without being asked to.
    #[serde(default)]
    pub death: Measures,
    /// A member's process was stopped without a fault.
    #[serde(default)]
    pub stop: Measures,
    /// A member did not reach its brokers, without a fault.
    #[serde(default)]
    pub connection: Measures,
    /// A member left its group without a fault.
    #[serde(default)]
    pub leave: Measures,
    /// Members were started for the first time.
    #[serde(default)]
    pub start: Measures,
    /// No known cause.
    pub none: Measures,
}

impl Report {
    /// Which groups promise that no role has two leaders, and which do not; nothing if none does.
    #[must_use]
    pub fn promises(&self) -> Vec<String> {
        super::promised::describe(self)
    }
}

impl GroupReport {
    /// Every cause, with its intervals.
    pub fn by_cause(&self) -> impl Iterator<Item = (CauseKind, &Measures)> {
        // Each field is named, so that a new cause cannot be forgotten.
        let Self { fault, other, exclusive: _, limit: _, unknown_ms: _ } = self;
        let Others { restart, broker, death, stop, connection, leave, start, none } = other;
        [
            (CauseKind::Fault, fault),
            (CauseKind::Restart, restart),
            (CauseKind::Broker, broker),
            (CauseKind::Death, death),
            (CauseKind::Stop, stop),
            (CauseKind::Connection, connection),
            (CauseKind::Leave, leave),
            (CauseKind::Start, start),
            (CauseKind::None, none),
        ]
        .into_iter()
    }

    /// The causes other than faults that had an effect.
    pub fn others(&self) -> impl Iterator<Item = (CauseKind, &Measures)> {
        let any = |of: &Measures| of.gap.count + of.overlap.count + of.takeover.count > 0;
        let others = self.by_cause().filter(|(cause, _)| *cause != CauseKind::Fault);
        others.filter(move |(_, of)| any(of))
    }
}

/// All groups together, for all causes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JointReport {
    /// No member served in any group.
    pub gap: Distribution,
    /// Two or more members claimed in at least one group.
    pub overlap: Distribution,
    /// The least number of groups in which every role was certainly led at every instant of the
    /// trials.
    pub leaders_min: Option<i64>,
    /// The bounds on the cost of this experiment's steps to all groups together.
    pub limit: LimitReport,
    /// The total time that could not be observed.
    pub unknown_ms: f64,
}

/// The bounds on the cost of an experiment's steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitReport {
    /// The longest gap; none if no bound is known.
    pub gap_ms: Option<f64>,
    /// The longest overlap; none if no bound is known.
    pub overlap_ms: Option<f64>,
    /// The bound on the gap minus the longest gap; negative if the gap exceeded its bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_slack_ms: Option<f64>,
    /// The bound on the overlap minus the longest overlap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap_slack_ms: Option<f64>,
}

/// The bounds on the cost of each kind of fault to a group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoundsReport {
    /// A member dies or stops without leaving.
    pub kill: BoundReport,
    /// A member leaves and ends.
    pub leave: BoundReport,
    /// A member is cut off from the brokers.
    pub isolation: BoundReport,
    /// A member is stopped, and continues.
    pub pause: BoundReport,
    /// A member joins, or joins again after a restart.
    pub restart: BoundReport,
    /// A member hears nothing on a partition that it leads, after its claim has lapsed; none if
    /// nothing bounds that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<BoundReport>,
    /// A link between two living members ends; none if members are not linked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<BoundReport>,
    /// The same while no member reaches the brokers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links_and_brokers: Option<BoundReport>,
    /// The broker that coordinates the group dies.
    pub broker: BoundReport,
}

/// The least and the greatest possible duration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoundReport {
    /// How long a role may have no leader.
    pub gap_ms: [f64; 2],
    /// How long a role may have more than one leader.
    pub overlap_ms: [f64; 2],
}

/// One of the longest gaps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worst {
    /// The first of the roles that had the gap.
    pub role: RoleName,
    /// The number of roles that had it, since they share a partition.
    pub roles: u64,
    /// The group.
    pub group: GroupName,
    /// The trial.
    pub trial: TrialNumber,
    /// When the gap began.
    pub from_ms: f64,
    /// The length of the gap.
    pub duration_ms: f64,
    /// The uncertainty of the length.
    pub uncertainty_ms: f64,
    /// Whether the gap was still open when its trial ended.
    pub censored: bool,
    /// The kind of its cause.
    pub cause: CauseKind,
    /// The fault, the cluster of a broker, or the life that was started, stopped, cut off or died.
    pub by: Option<String>,
    /// The longest stall of the host during the gap.
    pub stall: Option<Stall>,
}

impl Worst {
    /// The cause as text; none if the host stalled in the gap and nothing else explains it.
    #[must_use]
    pub fn after(&self) -> Option<String> {
        if self.cause == CauseKind::None && self.stall.is_some() {
            return None;
        }
        let cause = self.cause.describe(self.by.as_deref());
        Some(cause.map_or_else(|| "no cause".to_owned(), |cause| format!("after {cause}")))
    }
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultReport {
    /// The fault's id.
    pub id: FaultId,
    /// The fault's name as experiments write it.
    pub kind: String,
    /// The fault's effect on its victims.
    pub class: FaultClass,
    /// The trial.
    pub trial: TrialNumber,
    /// The victims: lives, as in `p1-1.2`, or brokers' addresses.
    pub target: Vec<String>,
    /// When the controller was about to inject the fault into the first victim.
    pub asked_ms: f64,
    /// When the fault was in force on the last victim.
    pub in_force_ms: Option<f64>,
    /// When the fault was gone from the last victim.
    pub healed_ms: Option<f64>,
    /// When a broker first answered the last victim after that, if the victims were cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconnected_ms: Option<f64>,
    /// When the last of the victims that elect among themselves reached the others of its group
    /// again, if they were cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejoined_ms: Option<f64>,
    /// The time between the first and the last victim, if there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew_ms: Option<f64>,
    /// Why the fault could not be injected or healed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A time in which the host did not schedule the instrument.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// When the instrument last ran before.
    pub from_ms: f64,
    /// When the instrument ran again.
    pub until_ms: f64,
}
