//! What can be done: each fault with all that it needs to know.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Kind;
use crate::edge::{Direction, Effect};
use crate::ids::{ClusterName, GroupName, RoleName};
use crate::time::{Skew, Span};

/// For how long a broker that ends is away where nothing is said: longer than it takes to replace
/// one, and not so long that a disk fills.
pub(super) const BROKER_RESTART: Span = Span::ms(5_000);

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A process ends, and is started again.
    End {
        /// How it ends.
        by: Departure,
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
    /// Somebody else is there by the same name.
    Duplicate {
        /// For how long.
        lasts: Span,
    },
    /// Many strikes, one member each: it is drawn who, when and by what.
    Storm(Storm),
    /// Every member leaves and comes back, each once all is settled again.
    Rollout {
        /// Replaces the topology's restart.
        restart_after: Option<Span>,
    },
    /// Nothing, for the control trial.
    Noop {
        /// For how long.
        lasts: Span,
    },
}

/// How a process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// SIGKILL.
    Kill,
    /// SIGTERM: it leaves its group, stops leading, ends.
    Leave,
    /// It is told to end without leaving.
    Stop,
    /// SIGKILL, with everybody else on its machine.
    Host,
}

/// What is drawn again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storm {
    /// Which of the two words it was written with: `storm`, `churn`.
    pub kind: Kind,
    /// For how long.
    pub lasts: Span,
    /// One strike in each such time, at any instant of it.
    pub every: Span,
    /// What may strike, each with its weight.
    pub faults: Vec<(Fault, u32)>,
}

impl Storm {
    /// How many strikes there are at most.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        let rounds = self.lasts.get().as_nanos() / self.every.get().as_nanos().max(1);
        u32::try_from(rounds).unwrap_or(u32::MAX)
    }
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

impl Fault {
    /// The word for it.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::End { by, .. } => by.kind(),
            Self::Pause { .. } => Kind::Pause,
            Self::Network(network) => network.kind,
            Self::Broker { .. } => Kind::Broker,
            Self::Clock { .. } => Kind::Clock,
            Self::Duplicate { .. } => Kind::Duplicate,
            Self::Storm(storm) => storm.kind,
            Self::Rollout { .. } => Kind::Rollout,
            Self::Noop { .. } => Kind::Noop,
        }
    }

    /// For how long it is held; nothing for what ends otherwise.
    #[must_use]
    pub fn lasts(&self) -> Option<Duration> {
        match self {
            Self::Pause { lasts }
            | Self::Clock { lasts, .. }
            | Self::Duplicate { lasts }
            | Self::Noop { lasts } => Some(lasts.get()),
            Self::Network(network) => Some(network.lasts.get()),
            Self::End { .. } | Self::Broker { .. } | Self::Storm(_) | Self::Rollout { .. } => None,
        }
    }

    /// What can strike: itself, or what it is made of.
    #[must_use]
    pub fn strikes(&self) -> Vec<Self> {
        match self {
            Self::Storm(storm) => storm.faults.iter().map(|(fault, _)| fault.clone()).collect(),
            Self::Rollout { restart_after } => vec![Self::End {
                by: Departure::Leave,
                restart_after: *restart_after,
                overlap_restart: false,
            }],
            Self::End { .. }
            | Self::Pause { .. }
            | Self::Network(_)
            | Self::Broker { .. }
            | Self::Clock { .. }
            | Self::Duplicate { .. }
            | Self::Noop { .. } => vec![self.clone()],
        }
    }

    /// What becomes of the brokers that it strikes, of a cluster or of a machine, and for how long
    /// they are away; nothing where it is done to members alone.
    #[must_use]
    pub fn of_brokers(&self) -> Option<(How, Span)> {
        match self {
            Self::Broker { how, away } => Some((*how, *away)),
            Self::End { by: Departure::Kill | Departure::Host, restart_after, .. } => {
                Some((How::Kill, restart_after.unwrap_or(BROKER_RESTART)))
            }
            Self::Pause { lasts } => Some((How::Pause, *lasts)),
            Self::End { by: Departure::Leave | Departure::Stop, .. }
            | Self::Network(_)
            | Self::Clock { .. }
            | Self::Duplicate { .. }
            | Self::Storm(_)
            | Self::Rollout { .. }
            | Self::Noop { .. } => None,
        }
    }

    /// What it does to the network, if that is what it is done to.
    #[must_use]
    pub fn network(&self) -> Option<&Network> {
        match self {
            Self::Network(network) => Some(network),
            Self::End { .. }
            | Self::Pause { .. }
            | Self::Broker { .. }
            | Self::Clock { .. }
            | Self::Duplicate { .. }
            | Self::Storm(_)
            | Self::Rollout { .. }
            | Self::Noop { .. } => None,
        }
    }
}

impl Departure {
    /// The word for it.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Kill => Kind::Kill,
            Self::Leave => Kind::Leave,
            Self::Stop => Kind::Stop,
            Self::Host => Kind::Host,
        }
    }
}
