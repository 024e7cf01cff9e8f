//! How a topology that is kept up stands at one instant.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reasons::ReasonsPicture;
use crate::ids::{ClusterName, GroupName, Incarnation, MemberId, RoleName, TopologyName};
use crate::live::Health;
use crate::time::Wall;
use crate::verdict::Exit;

/// How something stands.
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
    /// Not every group has led it yet.
    #[default]
    Starting,
    /// Every group leads it.
    Led,
    /// A group does not lead it, and another does.
    Degraded,
    /// No group leads it.
    Down,
}

impl Level {
    /// One word.
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

/// How the whole stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Picture {
    /// Whose picture it is.
    #[serde(flatten)]
    pub run: Run,
    /// When it was taken, in milliseconds since 1970-01-01 UTC.
    #[serde(rename = "at_ms")]
    pub at: Wall,
    /// How the whole stands: as its worst role.
    pub health: Level,
    /// For how long, in milliseconds.
    pub health_for_ms: f64,
    /// In how many milliseconds it ends by itself, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_in_ms: Option<f64>,
    /// What is promised, and what is left of it.
    pub objective: Vec<Promise>,
    /// What was counted of all groups together.
    pub joint: Counts,
    /// The brokers of embedded clusters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub brokers: BTreeMap<ClusterName, BrokerPicture>,
    /// What explains why something is not led.
    #[serde(default, skip_serializing_if = "ReasonsPicture::is_empty")]
    pub reasons: ReasonsPicture,
    /// The groups.
    pub groups: BTreeMap<GroupName, GroupPicture>,
    /// The roles, in the topology's order.
    pub roles: Vec<RolePicture>,
    /// Where facts are written.
    pub journal: JournalPicture,
    /// How many facts could not be taken into account; what is counted here may lack them.
    pub missed: u64,
    /// The number of the latest event.
    pub event: u64,
}

impl Picture {
    /// Whether all that is promised was kept so far.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.objective.iter().all(|promise| promise.kept)
    }

    /// How it stands, for scripts: how the roles are led now comes before what was promised.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self.health {
            Level::Down => Exit::Down,
            Level::Degraded => Exit::Degraded,
            Level::Starting => Exit::Unknown,
            Level::Led if self.is_kept() => Exit::Pass,
            Level::Led => Exit::Fail,
        }
    }
}

/// Which run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// What it is called.
    #[serde(rename = "run")]
    pub name: String,
    /// What it keeps up.
    pub topology: TopologyName,
    /// Its process id.
    pub pid: u32,
    /// Its journal and logs.
    pub folder: PathBuf,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    #[serde(rename = "began_ms")]
    pub began: Wall,
}

/// What is promised, and what is left of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Promise {
    /// `joint_gap` or `group_gap`, as topologies write it.
    pub what: String,
    /// The longest gap that is allowed, in milliseconds.
    pub allowed_ms: f64,
    /// The longest that there was, one that goes on included, as far as has been heard.
    pub longest_ms: f64,
    /// How much longer a gap may be; nothing where the promise is broken.
    pub left_ms: f64,
    /// Whether it was kept so far.
    pub kept: bool,
}

/// Intervals that are over and final, and gaps that go on; of each role by itself: two roles on one
/// partition count twice.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// How many gaps.
    pub gaps: u64,
    /// All of them together, in milliseconds.
    pub gap_ms: f64,
    /// The longest.
    pub gap_ms_max: f64,
    /// How many more go on, as far as has been heard.
    #[serde(default)]
    pub open: u64,
    /// For how long the longest of these has, in milliseconds.
    #[serde(default)]
    pub open_ms_max: f64,
    /// How many overlaps; absent for all groups together, for overlaps are counted by group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlaps: Option<u64>,
    /// All of them together, in milliseconds; absent for all groups together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap_ms: Option<f64>,
}

impl Counts {
    /// A group without an overlap has none, which is known.
    pub(super) fn of_a_group(self) -> Self {
        let overlaps = self.overlaps.or(Some(0));
        Self { overlaps, overlap_ms: self.overlap_ms.or(Some(0.0)), ..self }
    }
}

/// The broker of an embedded cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BrokerPicture {
    /// Where it listens, in each of its lives.
    pub address: String,
    /// Its process, while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// For how long it has been so, in milliseconds.
    pub for_ms: f64,
    /// How often it died, and nobody had asked it to.
    pub deaths: u64,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupPicture {
    /// Its cluster.
    pub cluster: ClusterName,
    /// How it stands: as its worst role in this group, which is led or not.
    pub led: bool,
    /// Its members.
    pub members: BTreeMap<MemberId, MemberPicture>,
    /// What was counted of it.
    #[serde(flatten)]
    pub counts: Counts,
}

/// One member.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberPicture {
    /// Its latest life.
    pub incarnation: Incarnation,
    /// The process of that life, while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The kernel has stopped it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// It leaves, or has left and ended in order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left: bool,
    /// For how long it has been so, in milliseconds.
    pub for_ms: f64,
    /// How many roles it leads.
    pub leads: usize,
}

/// One role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolePicture {
    /// Which.
    pub role: RoleName,
    /// How many more it stands for: of more than 10,000 roles those that share their partitions in
    /// every group stand as one.
    #[serde(default, skip_serializing_if = "is_none")]
    pub more: u32,
    /// How it stands.
    pub health: Level,
    /// For how long, in milliseconds.
    pub health_for_ms: f64,
    /// Who leads it, by group; nobody where that is empty.
    pub leaders: BTreeMap<GroupName, Vec<MemberId>>,
    /// The groups in which those who lead it are known not to serve it: they hang.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub idle: BTreeSet<GroupName>,
}

impl RolePicture {
    /// `eurusd`, or `eurusd and 15 more`, with the others of its class and `others`.
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

/// Where facts are written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct JournalPicture {
    /// The file that is written, or was last.
    pub file: PathBuf,
    /// Whether it is.
    pub written: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How many facts were never written.
    pub lost: u64,
}
