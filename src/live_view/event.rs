//! What happened to a topology that is kept up, as it is told to people and programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Counts, Level};
use crate::ids::{ClusterName, GroupName, Life, PartitionId, RoleName};
use crate::time::{Mono, Wall};

/// How many roles an event names; how many there are it says.
pub const ROLES_MAX: usize = 64;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its place in the order in which they were told, from 1; none is left out.
    pub seq: u64,
    /// When it was so, on the clock of the journal's facts.
    #[serde(rename = "t_ns")]
    pub t: Mono,
    /// The same on the wall clock, in milliseconds since 1970-01-01 UTC.
    #[serde(rename = "wall_ms")]
    pub wall: Wall,
    /// When it was told, on the clock of the journal's facts.
    #[serde(rename = "told_ns")]
    pub published: Mono,
    /// What happened.
    #[serde(flatten)]
    pub what: Happening,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Happening {
    /// A member's process was started.
    Started {
        /// Which life.
        life: Life,
        /// Its process id.
        pid: u32,
    },
    /// A member's process is gone.
    Died {
        /// Which life.
        life: Life,
        /// The signal that ended it, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        /// The status it ended with, if it did by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<i32>,
    },
    /// A member has left its group, as it was asked to, and its process has ended in order.
    Left {
        /// Which life.
        life: Life,
    },
    /// A member's process was stopped.
    Stopped {
        /// Which life.
        life: Life,
    },
    /// It goes on.
    Continued {
        /// Which life.
        life: Life,
    },
    /// A member leaves its group because it was asked to.
    Leaving {
        /// Which life.
        life: Life,
    },
    /// An embedded broker answers.
    ClusterStarted {
        /// Which cluster.
        cluster: ClusterName,
        /// Where.
        address: String,
        /// Its process id.
        pid: u32,
    },
    /// An embedded broker is gone, and nobody asked it to; it is started again.
    ClusterDied {
        /// Which cluster.
        cluster: ClusterName,
    },
    /// The host did not let the controller run, for 100 ms or more: nor, maybe, anybody else.
    Stalled {
        /// For how long, in milliseconds.
        ms: f64,
    },
    /// A broker is lost: its cluster names it no longer, or does not answer, or its process, which
    /// is the run's own, was stopped.
    BrokerLost {
        /// Its cluster.
        cluster: ClusterName,
        /// Its number and address.
        broker: String,
    },
    /// It is back.
    BrokerBack {
        /// Its cluster.
        cluster: ClusterName,
        /// Its number and address.
        broker: String,
    },
    /// A member cannot reach its brokers.
    Unconnected {
        /// Which life.
        life: Life,
        /// What its client says.
        why: String,
    },
    /// It reaches them again.
    Connected {
        /// Which life.
        life: Life,
    },
    /// Who leads a partition has changed.
    Leaders {
        /// In which group.
        group: GroupName,
        /// Which partition.
        partition: PartitionId,
        /// Who leads it now; nobody where it is empty.
        leaders: Vec<Life>,
        /// The roles on that partition, [`ROLES_MAX`] of them at most.
        roles: Vec<RoleName>,
        /// How many there are.
        role_count: usize,
    },
    /// How the whole stands has changed.
    Health {
        /// How it stands now.
        now: Level,
        /// How it stood before.
        before: Level,
    },
    /// Roles have been led by nobody since then, and still are; certain, and told later than the
    /// change of leaders that began it.
    GapBegan(Span),
    /// Roles were led by nobody: final.
    Gap(Span),
    /// Roles were claimed by two or more: final.
    Overlap(Span),
    /// Facts could not be taken into account: between the last event and this one, something may
    /// be missing.
    Missed {
        /// How many.
        facts: u64,
    },
    /// The journal takes no more; all else goes on.
    Unwritten {
        /// Why.
        why: String,
    },
    /// The journal is written again.
    Written {
        /// How many facts were never written so far.
        lost: u64,
    },
    /// The run ends: members leave.
    Ending {
        /// Why.
        why: String,
        /// Gaps of all groups together, of each role.
        joint: Counts,
    },
}

/// For how long something was so, and for whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// In which group; in all at once where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// The roles that it befell, [`ROLES_MAX`] of them at most.
    pub roles: Vec<RoleName>,
    /// How many there are.
    pub role_count: usize,
    /// The first instant.
    #[serde(rename = "from_ns")]
    pub from: Mono,
    /// The first instant that no longer belongs to it, once that is known.
    #[serde(default, rename = "until_ns", skip_serializing_if = "Option::is_none")]
    pub until: Option<Mono>,
}
