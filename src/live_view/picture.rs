//! A picture: the state of a topology that is kept up, at one instant.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reasons::ReasonsPicture;
use crate::ids::{ClusterName, GroupName, Incarnation, MemberId, RoleName, TopologyName};
use crate::live::Health;
use crate::observation::RefusedOrders;
use crate::time::Wall;
use crate::verdict::Exit;

/// The health of a role, or of the whole topology.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Some group has not led it yet.
    #[default]
    Starting,
    /// Every group leads it.
    Led,
    /// Some group does not lead it, and another does.
    Degraded,
    /// No group leads it.
    Down,
}

impl Level {
    /// The level as one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Led => "led",
            Self::Degraded => "degraded",
            Self::Down => "down",
        }
    }
}

impl From<Health> for Level {
    fn from(health: Health) -> Self {
        match health {
            Health::Starting => Self::Starting,
            Health::Led => Self::Led,
            Health::Degraded => Self::Degraded,
            Health::Down => Self::Down,
        }
    }
}

/// The state of the whole topology.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Picture {
    /// The run.
    #[serde(flatten)]
    pub run: Run,
    /// When it was taken, in milliseconds since 1970-01-01 UTC.
    #[serde(rename = "at_ms")]
    pub at: Wall,
    /// The health of the whole: that of its worst role.
    pub health: Level,
    /// How long it has been so, in milliseconds.
    pub health_for_ms: f64,
    /// For how many milliseconds the supervisor has said nothing, if for more than a second: the
    /// rest is as it was then, and how it stands since is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_ms: Option<f64>,
    /// In how many milliseconds the run ends by itself, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_in_ms: Option<f64>,
    /// The promises of the objective.
    pub objective: Vec<Promise>,
    /// The gaps of all groups at once.
    pub joint: Counts,
    /// The brokers of embedded clusters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub brokers: BTreeMap<ClusterName, BrokerPicture>,
    /// Possible reasons why roles are not led.
    #[serde(default, skip_serializing_if = "ReasonsPicture::is_empty")]
    pub reasons: ReasonsPicture,
    /// Of each clock of members on other hosts that was compared with that of this process: how
    /// far their instants may be off, in milliseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clocks: BTreeMap<String, f64>,
    /// The groups.
    pub groups: BTreeMap<GroupName, GroupPicture>,
    /// The roles, in the topology's order.
    pub roles: Vec<RolePicture>,
    /// The journal.
    pub journal: JournalPicture,
    /// How many facts the live view missed; the counts lack them.
    pub missed: u64,
    /// The sequence number of the latest event.
    pub event: u64,
}

impl Picture {
    /// Whether the objective was kept so far.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.objective.iter().all(|promise| promise.kept)
    }

    /// The state as an exit code: the current health takes precedence over the objective. Unknown
    /// if the supervisor is silent.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self.health {
            _ if self.silent_ms.is_some() => Exit::Unknown,
            Level::Down => Exit::Down,
            Level::Degraded => Exit::Degraded,
            Level::Starting => Exit::Unknown,
            Level::Led if self.is_kept() => Exit::Pass,
            Level::Led => Exit::Fail,
        }
    }
}

/// A run of `tandem up`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The name of the run.
    #[serde(rename = "run")]
    pub name: String,
    /// The topology that it keeps up.
    pub topology: TopologyName,
    /// Its process id.
    pub pid: u32,
    /// The process that keeps the members running; absent before it is known, and if others have
    /// started them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervisor: Option<u32>,
    /// The folder with its journals and logs.
    pub folder: PathBuf,
    /// When it started, in milliseconds since 1970-01-01 UTC.
    #[serde(rename = "began_ms")]
    pub began: Wall,
}

/// A promise of the objective, and its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Promise {
    /// `joint_gap` or `group_gap`, as in a topology.
    pub what: String,
    /// The longest allowed gap, in milliseconds.
    pub allowed_ms: f64,
    /// The longest gap so far, including gaps that go on, in milliseconds.
    pub longest_ms: f64,
    /// The difference of the two; 0 if the promise is broken.
    pub left_ms: f64,
    /// Whether the promise was kept so far.
    pub kept: bool,
}

/// Counts of final gaps and overlaps, and of gaps that go on. They count each role: two roles on
/// one partition count twice.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// The number of final gaps.
    pub gaps: u64,
    /// Their total length, in milliseconds.
    pub gap_ms: f64,
    /// The longest of them, in milliseconds.
    pub gap_ms_max: f64,
    /// The number of gaps that go on, by the current claims.
    #[serde(default)]
    pub open: u64,
    /// How long the longest of these has lasted, in milliseconds.
    #[serde(default)]
    pub open_ms_max: f64,
    /// The number of final overlaps; absent for all groups at once, because overlaps are counted by
    /// group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlaps: Option<u64>,
    /// Their total length, in milliseconds; absent for all groups at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap_ms: Option<f64>,
}

impl Counts {
    /// The counts of one group, where absent overlaps mean zero.
    pub(super) fn of_a_group(self) -> Self {
        let overlaps = self.overlaps.or(Some(0));
        Self { overlaps, overlap_ms: self.overlap_ms.or(Some(0.0)), ..self }
    }
}

/// The broker of an embedded cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BrokerPicture {
    /// The address on which it listens; a restart does not change it.
    pub address: String,
    /// Its process id, while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// How long it has been running or dead, in milliseconds.
    pub for_ms: f64,
    /// How often it died unexpectedly.
    pub deaths: u64,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupPicture {
    /// Its cluster.
    pub cluster: ClusterName,
    /// Whether it leads all roles.
    pub led: bool,
    /// Its members.
    pub members: BTreeMap<MemberId, MemberPicture>,
    /// Its gaps and overlaps.
    #[serde(flatten)]
    pub counts: Counts,
}

/// One member.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberPicture {
    /// Its latest life.
    pub incarnation: Incarnation,
    /// The process id of that life, while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Whether its process is stopped (SIGSTOP).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// Whether it leaves its group, or has left and exited normally.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left: bool,
    /// How long it has been in this state, in milliseconds.
    pub for_ms: f64,
    /// The number of roles that it leads.
    pub leads: usize,
    /// The orders of experiments that its witness has refused; absent if there are none.
    #[serde(default, skip_serializing_if = "RefusedOrders::is_none")]
    pub refused_orders: RefusedOrders,
}

/// One role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolePicture {
    /// The role's name.
    pub role: RoleName,
    /// How many more roles this entry represents. With more than 10,000 roles, those that share
    /// their partitions in every group have one entry.
    #[serde(default, skip_serializing_if = "is_none")]
    pub more: u32,
    /// The role's health.
    pub health: Level,
    /// How long it has been so, in milliseconds.
    pub health_for_ms: f64,
    /// Its leaders in each group; empty if there is none.
    pub leaders: BTreeMap<GroupName, Vec<MemberId>>,
    /// The groups in which its leaders hang: they claim it, but do not serve it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub idle: BTreeSet<GroupName>,
}

impl RolePicture {
    /// `eurusd`, or `eurusd and 15 more` if it represents other roles, or `others` are added.
    #[must_use]
    pub fn title(&self, others: u32) -> String {
        match self.more.saturating_add(others) {
            0 => self.role.to_string(),
            more => format!("{} and {more} more", self.role),
        }
    }
}

/// Serde wants a reference.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_none(more: &u32) -> bool {
    *more == 0
}

/// The state of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct JournalPicture {
    /// The current file.
    pub file: PathBuf,
    /// Whether it can be written.
    pub written: bool,
    /// The reason if it cannot be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How many facts were lost.
    pub lost: u64,
}
