//! What the controller observes and does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{External, FaultClass, Outcome, RefusedOrders, event_schema};
use crate::ids::{ClusterName, FaultId, GroupName, TrialNumber};
use crate::time::Mono;

/// What the controller observes and does, of a life or of the whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = event_schema::among_others)]
pub enum RunEvent {
    /// The controller started a process for this life, or learned of one that it did not start.
    Started {
        /// Its process id.
        pid: u32,
        /// Of a member that Tandem did not start: its group and its clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        external: Option<External>,
    },
    /// The process is gone, according to its pidfd.
    Died {
        /// The signal that ended the process, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        /// The exit status, if the process exited by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<i32>,
    },
    /// The controller asked the kernel about this life's process, and the change that the next of
    /// the controller's facts about this life reports had not happened yet. It happened between the
    /// two facts.
    NotYet,
    /// The process is stopped, according to the kernel.
    Stopped,
    /// The process continues, according to the kernel.
    Continued,
    /// What the witness of this life, which Tandem did not start, has made of the orders of
    /// experiments so far.
    Orders {
        /// How many it has carried out.
        taken: u64,
        /// How many it has refused.
        refused: RefusedOrders,
    },
    /// The controller is about to inject a fault. It stamps this fact before it does anything to a
    /// victim.
    FaultAsked {
        /// Which fault.
        fault: FaultId,
        /// The fault's name as experiments write it, for display.
        kind: String,
        /// The fault's effect on its victims.
        class: FaultClass,
        /// The victim's address, where the victim is a broker.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        broker: Option<String>,
        /// The cluster of that broker. The fault concerns no other cluster.
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
    /// The first answer from a broker reached the member after the fault between the two was
    /// healed.
    Reconnected {
        /// Which fault.
        fault: FaultId,
        /// The address of the broker.
        broker: String,
    },
    /// The fault could not be injected or healed.
    FaultFailed {
        /// Which fault.
        fault: FaultId,
        /// The fault's name as experiments write it, for display.
        kind: String,
        /// The fault's effect on its victims.
        class: FaultClass,
        /// What went wrong.
        why: String,
    },
    /// A fault with several victims is in force on the last of them.
    Struck {
        /// Which fault.
        fault: FaultId,
        /// The number of victims.
        victims: u32,
        /// From the instant at which the first victim's fault was asked for to the instant at which
        /// the last victim's was in force.
        skew_ns: u64,
    },
    /// A trial begins: every group is settled.
    TrialBegan {
        /// Which trial.
        trial: TrialNumber,
    },
    /// A trial ends, whether the groups have recovered or not.
    TrialEnded {
        /// Which trial.
        trial: TrialNumber,
        /// Whether everything settled again in time; none if the trial was cut short before it
        /// could.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recovered: Option<bool>,
    },
    /// A group was settled for the required time.
    Settled {
        /// Which group.
        group: GroupName,
    },
    /// An embedded broker accepts requests.
    ClusterStarted {
        /// Which cluster.
        cluster: ClusterName,
        /// The broker's address.
        address: String,
        /// The broker's process id.
        pid: u32,
    },
    /// An embedded broker died without being asked to.
    ClusterDied {
        /// Which cluster.
        cluster: ClusterName,
    },
    /// A broker that outlives the run is missing from its cluster's metadata, or its cluster does
    /// not answer. Or an embedded broker stopped, and no fault asked for it.
    BrokerLost {
        /// Which cluster.
        cluster: ClusterName,
        /// The broker's number and address, as in `1 at h:9092`.
        broker: String,
    },
    /// A lost broker is back.
    BrokerBack {
        /// Which cluster.
        cluster: ClusterName,
        /// The number and address from the `broker_lost`.
        broker: String,
    },
    /// The process of the edges, through which members reach brokers, runs.
    EdgesStarted {
        /// Its process id.
        pid: u32,
    },
    /// The process of the edges died without being asked to.
    EdgesDied,
    /// The host did not schedule the controller's canary thread.
    Stall {
        /// When the canary went to sleep; earlier, if it had waited for a processor before that.
        #[serde(rename = "from_ns")]
        from: Mono,
        /// When the canary ran again.
        #[serde(rename = "until_ns")]
        until: Mono,
        /// For how much of this time the canary was runnable and waited for a processor, as the
        /// kernel counts; none if the kernel does not report it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waited_ns: Option<u64>,
    },
    /// Use of the host's processors between two samples. Written where a stall ended with the
    /// second sample, and where processes outside the run used more than a small share.
    Processors {
        /// The first sample.
        #[serde(rename = "from_ns")]
        from: Mono,
        /// The second sample.
        #[serde(rename = "until_ns")]
        until: Mono,
        /// For how long the processors were busy, summed over all of them.
        busy_ns: u64,
        /// How much of the busy time the run's own processes used.
        own_ns: u64,
        /// The time that the hypervisor stole from the processor that lost most.
        stolen_ns: u64,
    },
    /// The host was suspended. No process observed that time, and no claim outlived it.
    Suspended {
        /// When the controller last checked before the suspend.
        #[serde(rename = "from_ns")]
        from: Mono,
        /// When the controller checked again.
        #[serde(rename = "until_ns")]
        until: Mono,
    },
    /// Facts of this time are missing, of any author: the disk was slower than the facts came, and
    /// the queue of facts was full.
    Unwritten {
        /// The stamp of the first missing fact or its arrival, whichever is earlier.
        #[serde(rename = "from_ns")]
        from: Mono,
        /// When the queue took facts again.
        #[serde(rename = "until_ns")]
        until: Mono,
        /// The number of missing facts.
        facts: u64,
    },
    /// The controller did not run for so long that its guard ended everything that the controller
    /// had started. No process observed what happened from then on.
    Unattended {
        /// When the controller was last known to run.
        #[serde(rename = "from_ns")]
        from: Mono,
    },
    /// The last line of a run that ended by itself.
    Ended {
        /// The outcome.
        how: Outcome,
        /// An explanation, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
}
