//! A fact, and all that can happen.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ending, FaultClass, Horizon, Outcome, unit_facts};
use crate::ids::{ClusterName, FaultId, GroupName, Life, PartitionId, Term, TrialNumber};
use crate::time::{Mono, Wall};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = unit_facts::with_null)]
pub struct Fact {
    /// When its author stamped it.
    #[serde(rename = "t_ns")]
    pub t: Mono,
    /// Its place in the order in which its author wrote, from 1. A number that is missing is a fact
    /// that was lost.
    pub seq: u64,
    /// Whom it is about; nobody where it is about the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life: Option<Life>,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// What can happen. Above the line the member speaks, of itself; below it, the controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The group gave it these partitions, and no others.
    Assigned {
        /// The generation of the group, where the client tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generation: Option<i32>,
        /// The broker's name for the member, where the client tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        member_id: Option<String>,
        /// All that it holds from now on.
        partitions: Vec<PartitionId>,
    },
    /// The group takes these partitions back, in an orderly rebalance.
    Revoked {
        /// What it no longer holds.
        partitions: Vec<PartitionId>,
    },
    /// It has been out of touch for so long that these partitions may be somebody else's.
    Lost {
        /// What it no longer holds.
        partitions: Vec<PartitionId>,
    },
    /// It begins to believe that it leads.
    Claimed {
        /// Which partition.
        partition: PartitionId,
        /// Which of its claims on it.
        term: Term,
        /// The first instant of the claim.
        #[serde(rename = "from_ns")]
        from: Mono,
        /// The first instant that is no longer claimed, unless renewed.
        #[serde(rename = "until_ns")]
        until: Mono,
    },
    /// All of its claims, with how far each reaches now; each 100 ms while it has any.
    Renewed {
        /// One a claim.
        claims: Vec<Horizon>,
    },
    /// A claim is over; `at` is exact, however late it is told.
    Lapsed {
        /// Which partition.
        partition: PartitionId,
        /// Which of its claims on it.
        term: Term,
        /// The first instant that is no longer claimed.
        #[serde(rename = "at_ns")]
        at: Mono,
        /// What ended it.
        why: Ending,
    },
    /// Its stand-in duty ticked for these partitions from `from` to `until`, with no two ticks
    /// further apart than 100 ms.
    Ticks {
        /// What it led at each of the ticks.
        partitions: Vec<PartitionId>,
        /// The first tick of the run.
        #[serde(rename = "from_ns")]
        from: Mono,
        /// The last tick so far.
        #[serde(rename = "until_ns")]
        until: Mono,
    },
    /// The channel was full: what it would have told between these instants is not known.
    Hole {
        /// When the first fact was dropped.
        #[serde(rename = "from_ns")]
        from: Mono,
        /// When the channel took facts again; all claims follow in a `renewed`.
        #[serde(rename = "until_ns")]
        until: Mono,
    },
    /// What its wall clock says at this instant; told when that is shifted, each 100 ms while it is
    /// wrong, and when it is right again.
    Clock {
        /// In milliseconds since 1970-01-01 UTC.
        #[serde(rename = "wall_ms")]
        wall: Wall,
    },
    /// The host did not let its duty run: the thread woke later than it asked to.
    Late {
        /// When it fell asleep.
        #[serde(rename = "from_ns")]
        from: Mono,
        /// When it ran again.
        #[serde(rename = "until_ns")]
        until: Mono,
        /// For how much of it the thread could run and waited for a processor, as the kernel
        /// counts; nothing where the kernel does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waited_ns: Option<u64>,
    },
    /// It cannot reach its brokers: no message came and no beacon was delivered for a while, and
    /// its client says why.
    Unconnected {
        /// What the client says.
        why: String,
    },
    /// It reaches them again.
    Connected,
    /// It was asked to go: it has left the group, or tries to, and claims nothing any more.
    Leaving,

    // ---- the controller --------------------------------------------------------------------
    /// A process was started for this life.
    Started {
        /// Its process id.
        pid: u32,
    },
    /// The process is gone: its pidfd said so.
    Died {
        /// The signal that ended it, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        /// The status it ended with, if it did by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<i32>,
    },
    /// The kernel was asked, and what the next fact here says of the same life was not yet so: it
    /// happened between the two.
    NotYet,
    /// The kernel says that the process is stopped.
    Stopped,
    /// The kernel says that the process goes on.
    Continued,
    /// About to inject; stamped before anything is done to the victim.
    FaultAsked {
        /// Which fault.
        fault: FaultId,
        /// Its kind, as experiments write it: for people.
        kind: String,
        /// What it does to whom it strikes.
        class: FaultClass,
        /// Whom it strikes, where that is no member: the address of a broker.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        broker: Option<String>,
        /// The cluster of that broker: no other is concerned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster: Option<ClusterName>,
    },
    /// The fault is known to be in force.
    FaultInForce {
        /// Which fault.
        fault: FaultId,
    },
    /// The fault is known to be gone.
    FaultHealed {
        /// Which fault.
        fault: FaultId,
    },
    /// The first answer of a broker reached the member after the fault between them was healed.
    Reconnected {
        /// Which fault.
        fault: FaultId,
        /// The address of the broker.
        broker: String,
    },
    /// The fault could not be injected, or not be healed.
    FaultFailed {
        /// Which fault.
        fault: FaultId,
        /// Its kind, as experiments write it: for people.
        kind: String,
        /// What it does to whom it strikes.
        class: FaultClass,
        /// What went wrong.
        why: String,
    },
    /// A fault across several victims has struck the last of them.
    Struck {
        /// Which fault.
        fault: FaultId,
        /// How many victims there were.
        victims: u32,
        /// From the first to be asked to the last to be in force.
        skew_ns: u64,
    },
    /// A trial begins: the gate found everything settled.
    TrialBegan {
        /// Which trial.
        trial: TrialNumber,
    },
    /// A trial ends, recovered or not.
    TrialEnded {
        /// Which trial.
        trial: TrialNumber,
        /// Whether everything settled again in time; nothing where the trial was cut short, and had
        /// no time to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recovered: Option<bool>,
    },
    /// A group has been settled for the stated time.
    Settled {
        /// Which group.
        group: GroupName,
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
    /// An embedded broker is gone, and nobody asked it to.
    ClusterDied {
        /// Which cluster.
        cluster: ClusterName,
    },
    /// A broker that outlives the run is no longer among those that its cluster names, or its
    /// cluster does not answer. Or an embedded broker was stopped, and no fault asked for it.
    BrokerLost {
        /// Which cluster.
        cluster: ClusterName,
        /// The broker's number and address, as in `1 at h:9092`.
        broker: String,
    },
    /// It is back.
    BrokerBack {
        /// Which cluster.
        cluster: ClusterName,
        /// The same as it was called when it was lost.
        broker: String,
    },
    /// The process runs through which members reach brokers.
    EdgesStarted {
        /// Its process id.
        pid: u32,
    },
    /// It is gone, and nobody asked it to.
    EdgesDied,
    /// The host did not let the controller's canary run.
    Stall {
        /// When it last ran before.
        #[serde(rename = "from_ns")]
        from: Mono,
        /// When it ran again.
        #[serde(rename = "until_ns")]
        until: Mono,
        /// For how much of it the canary could run and waited for a processor, as the kernel
        /// counts; nothing where the kernel does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waited_ns: Option<u64>,
    },
    /// Who used the processors of the host between two looks. It is written where a stall ended
    /// with the second look, and where processes outside the run used more than a little.
    Processors {
        /// The first look.
        #[serde(rename = "from_ns")]
        from: Mono,
        /// The second.
        #[serde(rename = "until_ns")]
        until: Mono,
        /// For how long they were not idle, all of them together.
        busy_ns: u64,
        /// How much of that the processes of the run used.
        own_ns: u64,
        /// For how long the hypervisor took away the one that it took away longest.
        stolen_ns: u64,
    },
    /// The host was suspended: what happened then nobody was there to see; no claim outlived it.
    Suspended {
        /// When the controller last looked before.
        #[serde(rename = "from_ns")]
        from: Mono,
        /// When it looked again.
        #[serde(rename = "until_ns")]
        until: Mono,
    },
    /// The disk did not take facts as fast as they came, and the queue before it was full: of this
    /// time facts are missing, of anybody.
    Unwritten {
        /// The stamp of the first fact that is missing, or when it came, whichever is earlier.
        #[serde(rename = "from_ns")]
        from: Mono,
        /// When the queue took facts again.
        #[serde(rename = "until_ns")]
        until: Mono,
        /// How many are missing.
        facts: u64,
    },
    /// The controller stood still for so long that its guard ended all that it had started: what
    /// happened from then on nobody was there to see.
    Unattended {
        /// When the controller was last known to run.
        #[serde(rename = "from_ns")]
        from: Mono,
    },
    /// The last line of a run that ended by itself.
    Ended {
        /// How.
        how: Outcome,
        /// In words, where there is something to say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
}

impl What {
    /// Whether a member says such a thing of itself; else the controller does.
    #[must_use]
    pub const fn is_by_member(&self) -> bool {
        match self {
            Self::Assigned { .. }
            | Self::Revoked { .. }
            | Self::Lost { .. }
            | Self::Claimed { .. }
            | Self::Renewed { .. }
            | Self::Lapsed { .. }
            | Self::Ticks { .. }
            | Self::Hole { .. }
            | Self::Late { .. }
            | Self::Unconnected { .. }
            | Self::Connected
            | Self::Leaving
            | Self::Clock { .. } => true,
            Self::Started { .. }
            | Self::Died { .. }
            | Self::NotYet
            | Self::Stopped
            | Self::Continued
            | Self::FaultAsked { .. }
            | Self::FaultInForce { .. }
            | Self::FaultHealed { .. }
            | Self::Reconnected { .. }
            | Self::FaultFailed { .. }
            | Self::Struck { .. }
            | Self::TrialBegan { .. }
            | Self::TrialEnded { .. }
            | Self::Settled { .. }
            | Self::ClusterStarted { .. }
            | Self::ClusterDied { .. }
            | Self::BrokerLost { .. }
            | Self::BrokerBack { .. }
            | Self::EdgesStarted { .. }
            | Self::EdgesDied
            | Self::Stall { .. }
            | Self::Processors { .. }
            | Self::Suspended { .. }
            | Self::Unwritten { .. }
            | Self::Unattended { .. }
            | Self::Ended { .. } => false,
        }
    }
}
