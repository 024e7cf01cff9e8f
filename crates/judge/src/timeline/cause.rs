//! What causes gaps and overlaps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use tandem_facts::ids::{ClusterName, FaultId, Life};

/// The cause of an interval: the latest fault, start, stop, leave or death in its group, or death
/// of its broker, before the interval began and after which the group had not settled again.
/// Without one, a broker that was lost at that instant, or a member that did not reach its brokers:
/// until the group has settled after it was back, and for [`RETURN`] at most.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Cause {
    /// A fault.
    Fault(FaultId),
    /// A member was restarted.
    Restart(Life),
    /// A broker of this cluster died, stopped or did not answer, without a fault that explains it.
    Broker(ClusterName),
    /// This life ended without a fault or a request to leave.
    Death(Life),
    /// The process of this life was stopped without a fault.
    Stop(Life),
    /// This life did not reach its brokers, without a fault that explains it.
    Connection(Life),
    /// This life left its group without a fault: its program ended or is unhealthy, or its process
    /// was asked to end.
    Leave(Life),
    /// Members of the group were started for the first time.
    Start,
    /// No known cause.
    #[default]
    Nothing,
}

impl Cause {
    /// The kind of the cause, and what or who it was: a fault, a cluster, or a life.
    #[must_use]
    pub fn kind(&self) -> (CauseKind, Option<String>) {
        match self {
            Self::Fault(id) => (CauseKind::Fault, Some(id.to_string())),
            Self::Restart(life) => (CauseKind::Restart, Some(life.to_string())),
            Self::Broker(cluster) => (CauseKind::Broker, Some(cluster.to_string())),
            Self::Death(life) => (CauseKind::Death, Some(life.to_string())),
            Self::Stop(life) => (CauseKind::Stop, Some(life.to_string())),
            Self::Connection(life) => (CauseKind::Connection, Some(life.to_string())),
            Self::Leave(life) => (CauseKind::Leave, Some(life.to_string())),
            Self::Start => (CauseKind::Start, None),
            Self::Nothing => (CauseKind::None, None),
        }
    }

    /// The cause as the object of "after" in a sentence.
    #[must_use]
    pub fn describe(&self) -> Option<String> {
        let (kind, by) = self.kind();
        kind.describe(by.as_deref())
    }

    /// The rank among the causes of several groups: a fault, then the loss of a broker, then the
    /// death, the stop, the lost connection, the leave or the start of a member.
    pub(super) fn weight(&self) -> u8 {
        match self {
            Self::Fault(_) => 8,
            Self::Broker(_) => 7,
            Self::Death(_) => 6,
            Self::Stop(_) => 5,
            Self::Connection(_) => 4,
            Self::Leave(_) => 3,
            Self::Restart(_) => 2,
            Self::Start => 1,
            Self::Nothing => 0,
        }
    }
}

/// The kind of an interval's cause.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    /// A fault.
    Fault,
    /// A member was restarted.
    Restart,
    /// A broker died, stopped or did not answer, without a fault that explains it.
    Broker,
    /// A member died without a fault.
    Death,
    /// A member was stopped without a fault.
    Stop,
    /// A member did not reach its brokers, without a fault.
    Connection,
    /// A member left its group without a fault.
    Leave,
    /// Members were started for the first time.
    Start,
    /// No known cause.
    None,
}

impl CauseKind {
    /// The name of the kind, as in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::Restart => "restart",
            Self::Broker => "broker",
            Self::Death => "death",
            Self::Stop => "stop",
            Self::Connection => "connection",
            Self::Leave => "leave",
            Self::Start => "start",
            Self::None => "none",
        }
    }

    /// The name of the cause in a table row.
    #[must_use]
    pub fn row(self) -> &'static str {
        if self == Self::None { "no cause" } else { self.word() }
    }

    /// The cause as the object of "after" in a sentence: of this kind, and by this fault, cluster
    /// or life.
    #[must_use]
    pub fn describe(self, by: Option<&str>) -> Option<String> {
        match self {
            Self::Fault => Some(format!("fault {}", by?)),
            Self::Restart => Some(format!("the start of {}", by?)),
            Self::Broker => Some(format!("the loss of a broker of cluster {}", by?)),
            Self::Death => Some(format!("the death of {}", by?)),
            Self::Stop => Some(format!("the stop of {}", by?)),
            Self::Connection => Some(format!("the lost connection of {}", by?)),
            Self::Leave => Some(format!("the leave of {}", by?)),
            Self::Start => Some("the start of the group".to_owned()),
            Self::None => None,
        }
    }

    /// An explanation of the row, if its name is not enough.
    pub(crate) fn meaning(self) -> Option<&'static str> {
        match self {
            Self::Fault => None,
            Self::Restart => Some("members were restarted, and roles moved to them"),
            Self::Broker => Some("a broker died, stopped or did not answer without a fault"),
            Self::Death => Some("a member died without a fault"),
            Self::Stop => Some("a member was stopped (SIGSTOP) without a fault"),
            Self::Connection => Some("a member did not reach its brokers, without a fault"),
            Self::Leave => Some("a member left its group without a fault"),
            Self::Start => Some("members joined for the first time: roles move to them"),
            Self::None => Some("no known cause explains these"),
        }
    }
}
