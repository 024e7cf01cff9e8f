//! What can be done: each fault with all that it needs to know.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::edge::{Direction, Effect};
use crate::ids::{ClusterName, GroupName, RoleName};
use crate::time::{Skew, Span};

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL.
    Kill {
        /// Replaces the topology's restart for the victims.
        restart_after: Option<Span>,
        /// The restart may come before the dead one's session is over.
        overlap_restart: bool,
    },
    /// SIGSTOP, and SIGCONT later.
    Pause {
        /// For how long.
        lasts: Span,
    },
    /// What passes between members and brokers is cut, held, slowed or answered by an edge.
    Network(Network),
    /// Brokers die or stand still, and come back.
    Broker {
        /// What becomes of them.
        how: How,
        /// For how long they are away: until they are started again, or woken.
        away: Span,
    },
    /// A member's wall clock is wrong.
    Clock {
        /// By how much.
        skew: Skew,
        /// For how long.
        lasts: Span,
    },
    /// Nothing, for the control trial.
    Noop {
        /// For how long.
        lasts: Span,
    },
}

/// What becomes of a broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum How {
    /// SIGKILL.
    #[default]
    Kill,
    /// SIGTERM: it shuts down in order.
    Stop,
    /// SIGSTOP, and SIGCONT later.
    Pause,
}

/// What edges do to what passes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Which of the three words it was written with; they differ in what must be said.
    pub kind: Kind,
    /// For how long.
    pub lasts: Span,
    /// Between the victims and which brokers.
    pub from: Far,
    /// Which way.
    pub direction: Direction,
    /// Only these requests, by Kafka's numbers, and their answers; nothing said is every byte.
    pub apis: Option<BTreeSet<i16>>,
    /// What is done.
    pub effect: Effect,
}

/// The far side of a fault of the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Far {
    /// All brokers of this cluster, which must be the victim's; its own where nothing is named.
    Cluster(Option<ClusterName>),
    /// The broker of this address in the victim's cluster.
    Address(String),
    /// The broker of this number in it.
    Node(i32),
    /// The broker that coordinates this group; the victim's own where nothing is named.
    Coordinator(Option<GroupName>),
    /// The broker that leads a role's partition.
    Leader {
        /// Which role; a seeded choice where nothing is named.
        role: Option<RoleName>,
        /// In the ledger of this group; of the victim's own where nothing is named.
        group: Option<GroupName>,
    },
}

/// The word for a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A process dies.
    Kill,
    /// A process is stopped for a while.
    Pause,
    /// Nothing passes.
    Partition,
    /// What passes is late.
    Slow,
    /// Some requests fail.
    Protocol,
    /// A broker dies, or stands still.
    Broker,
    /// A wall clock is wrong.
    Clock,
    /// Nothing happens.
    Noop,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Kill,
        Self::Pause,
        Self::Partition,
        Self::Slow,
        Self::Protocol,
        Self::Broker,
        Self::Clock,
        Self::Noop,
    ];

    /// The word that experiments use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Pause => "pause",
            Self::Partition => "partition",
            Self::Slow => "slow",
            Self::Protocol => "protocol",
            Self::Broker => "broker",
            Self::Clock => "clock",
            Self::Noop => "noop",
        }
    }

    /// What a sentence calls it.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Slow => "slow network",
            Self::Protocol => "protocol fault",
            Self::Broker => "broker fault",
            Self::Clock => "clock fault",
            Self::Kill | Self::Pause | Self::Partition | Self::Noop => self.as_str(),
        }
    }

    /// The fields of a step that it knows, beside those that say when and to whom.
    #[must_use]
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Kill => &["restart_after", "overlap_restart"],
            Self::Pause | Self::Noop => &["for"],
            Self::Partition => &["for", "behavior", "direction", "from", "apis"],
            Self::Slow => &["for", "latency", "latency_jitter", "rate", "direction", "from"],
            Self::Protocol => &[
                "for",
                "apis",
                "behavior",
                "latency",
                "latency_jitter",
                "error",
                "direction",
                "from",
            ],
            Self::Broker => &["how", "restart_after", "for"],
            Self::Clock => &["for", "ahead", "behind", "drift", "step_every"],
        }
    }
}

impl Fault {
    /// The word for it.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Kill { .. } => Kind::Kill,
            Self::Pause { .. } => Kind::Pause,
            Self::Network(network) => network.kind,
            Self::Broker { .. } => Kind::Broker,
            Self::Clock { .. } => Kind::Clock,
            Self::Noop { .. } => Kind::Noop,
        }
    }

    /// For how long it is held; nothing for what ends otherwise.
    #[must_use]
    pub fn lasts(&self) -> Option<Duration> {
        match self {
            Self::Pause { lasts } | Self::Clock { lasts, .. } | Self::Noop { lasts } => {
                Some(lasts.get())
            }
            Self::Network(network) => Some(network.lasts.get()),
            Self::Kill { .. } | Self::Broker { .. } => None,
        }
    }

    /// What it does to the network, if that is what it is done to.
    #[must_use]
    pub fn network(&self) -> Option<&Network> {
        match self {
            Self::Network(network) => Some(network),
            Self::Kill { .. }
            | Self::Pause { .. }
            | Self::Broker { .. }
            | Self::Clock { .. }
            | Self::Noop { .. } => None,
        }
    }
}
