//! The events of a topology that is kept up, as users and programs get them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::ms;
use super::{Counts, Level};
use crate::ids::{ClusterName, GroupName, Life, PartitionId, RoleName};
use crate::live::Reason;
use crate::time::{Mono, Wall};
use crate::timeline::CauseKind;

/// How many roles an event names at most; `role_count` has the full number.
pub const ROLES_MAX: usize = 64;

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its sequence number in the order of publication, from 1 and without holes.
    pub seq: u64,
    /// When it happened, on the clock of the journal's facts.
    #[serde(rename = "t_ns")]
    pub t: Mono,
    /// The same on the wall clock, in milliseconds since 1970-01-01 UTC.
    #[serde(rename = "wall_ms")]
    pub wall: Wall,
    /// When it was published, on the clock of the journal's facts.
    #[serde(rename = "told_ns")]
    pub published: Mono,
    /// What happened.
    #[serde(flatten)]
    pub what: Happening,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Happening {
    /// A member's process was started.
    Started {
        /// The member's life.
        life: Life,
        /// Its process id.
        pid: u32,
    },
    /// A member's process has died.
    Died {
        /// The member's life.
        life: Life,
        /// The signal that killed it, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        /// Its exit status, if it exited by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<i32>,
    },
    /// A member has left its group on request, and its process has exited normally.
    Left {
        /// The member's life.
        life: Life,
    },
    /// A member's process was stopped (SIGSTOP).
    Stopped {
        /// The member's life.
        life: Life,
    },
    /// A member's process continues (SIGCONT).
    Continued {
        /// The member's life.
        life: Life,
    },
    /// A member starts to lead a partition in the place of another one that is dead or silent.
    StandsIn {
        /// The member's life.
        life: Life,
        /// The partition.
        partition: PartitionId,
        /// The life in whose place it leads.
        of: Life,
    },
    /// A member starts to leave its group, on request.
    Leaving {
        /// The member's life.
        life: Life,
    },
    /// An embedded broker was started and answers.
    ClusterStarted {
        /// The broker's cluster.
        cluster: ClusterName,
        /// The address on which it listens.
        address: String,
        /// Its process id.
        pid: u32,
    },
    /// An embedded broker has died unexpectedly; it is started again.
    ClusterDied {
        /// The broker's cluster.
        cluster: ClusterName,
    },
    /// The host did not schedule the controller for 100 ms or more; other processes may have
    /// stalled as well.
    Stalled {
        /// How long, in milliseconds.
        ms: f64,
    },
    /// A broker is lost: its cluster no longer names it, or does not answer, or the process of an
    /// embedded broker was stopped.
    BrokerLost {
        /// The broker's cluster.
        cluster: ClusterName,
        /// The broker's node id and address.
        broker: String,
    },
    /// A lost broker is back.
    BrokerBack {
        /// The broker's cluster.
        cluster: ClusterName,
        /// The broker's node id and address.
        broker: String,
    },
    /// A member cannot reach its brokers.
    Unconnected {
        /// The member's life.
        life: Life,
        /// The error of its client.
        why: String,
    },
    /// A member leaves its group: it does not work with the versions of the others.
    Refused {
        /// The member's life.
        life: Life,
        /// Both versions, in words.
        why: String,
    },
    /// A member reaches its brokers again.
    Connected {
        /// The member's life.
        life: Life,
    },
    /// The leaders of a partition have changed.
    Leaders {
        /// The group.
        group: GroupName,
        /// The partition.
        partition: PartitionId,
        /// The members that lead it now; empty if there is no leader.
        leaders: Vec<Life>,
        /// The roles on that partition, at most [`ROLES_MAX`] of them.
        roles: Vec<RoleName>,
        /// The number of these roles.
        role_count: usize,
    },
    /// The health of the topology has changed.
    Health {
        /// The health now.
        now: Level,
        /// The health before.
        before: Level,
    },
    /// A gap has begun and still goes on. It is published when it is certain, later than the change
    /// of leaders that began it.
    GapBegan(Span),
    /// A gap is over: roles had no leader. Final.
    Gap(Span),
    /// An overlap is over: two or more members claimed roles. Final.
    Overlap(Span),
    /// The live view missed facts, so events before this one may be missing.
    Missed {
        /// How many facts were missed.
        facts: u64,
    },
    /// The journal cannot be written; everything else goes on.
    Unwritten {
        /// The reason.
        why: String,
    },
    /// The journal is written again.
    Written {
        /// How many facts were lost so far.
        lost: u64,
    },
    /// The run ends: members leave.
    Ending {
        /// The reason.
        why: String,
        /// The joint gaps of all roles.
        joint: Counts,
    },
}

/// An interval, and the roles it concerns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// The group; absent if it concerns all groups at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// The roles, at most [`ROLES_MAX`] of them.
    pub roles: Vec<RoleName>,
    /// The number of these roles.
    pub role_count: usize,
    /// Its first instant.
    #[serde(rename = "from_ns")]
    pub from: Mono,
    /// The first instant after it, once that is known.
    #[serde(default, rename = "until_ns", skip_serializing_if = "Option::is_none")]
    pub until: Option<Mono>,
    /// Of a gap: the kind of its cause, as in a report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CauseKind>,
    /// The fault, the cluster of a broker, or the life that was started, stopped, cut off or died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Of a gap: how long the host stalled in it, in milliseconds; the longest stall.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall_ms: Option<f64>,
}

impl Span {
    /// The same, with the reason of a gap.
    pub(super) fn after(mut self, reason: &Reason) -> Self {
        let (kind, by) = reason.cause.kind();
        (self.cause, self.by) = (Some(kind), by);
        self.stall_ms = reason.stall.map(|stall| ms(stall.length()));
        self
    }
}
