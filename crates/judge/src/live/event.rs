//! The events of the live fold.

use std::time::Duration;

use super::{FaultWindow, Reason};
use crate::timeline::Interval;
use tandem_facts::ids::{FaultId, GroupName, Life, PartitionId};
use tandem_facts::roles::RoleClass;
use tandem_facts::time::Mono;

/// The current health of all roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Health {
    /// Not every group has led all of its roles yet.
    #[default]
    Starting,
    /// Every group leads every role.
    Led,
    /// A group does not lead some role, but another group does.
    Degraded,
    /// Some role is led in no group.
    Down,
}

impl Health {
    /// The health of a role that `led` groups lead, `lost` groups no longer lead, and `never`
    /// groups have never led.
    #[must_use]
    pub const fn of(led: usize, lost: usize, never: usize) -> Self {
        match (led, lost, never) {
            (0, 1.., _) => Self::Down,
            // Without an observed member, nothing is known.
            (_, _, 1..) | (0, 0, 0) => Self::Starting,
            (_, 1.., 0) => Self::Degraded,
            (_, 0, 0) => Self::Led,
        }
    }

    /// The rank; the worst health has the highest. A role that was lost is worse than one that was
    /// never led.
    pub(super) const fn badness(self) -> u8 {
        match self {
            Self::Led => 0,
            Self::Degraded => 1,
            Self::Starting => 2,
            Self::Down => 3,
        }
    }
}

/// An event. Its instants are when it happened, which is some time before the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The leader of a partition in a group has changed. A later event may correct this one.
    Leaders {
        /// The group.
        group: GroupName,
        /// The partition.
        partition: PartitionId,
        /// The lives that lead it now; empty if none does.
        leaders: Vec<Life>,
        /// Since when.
        since: Mono,
    },
    /// A group no longer leads a partition, or leads it again, as far as known: no life claims it,
    /// or certainly none of those that claim it serves. A later event may correct this one.
    Unled {
        /// The group.
        group: GroupName,
        /// The partition.
        partition: PartitionId,
        /// When it was not led; without an end while it is not.
        span: Interval,
    },
    /// The health of all roles, or its start, has changed. A later event may correct this one.
    Health {
        /// The health now.
        now: Health,
        /// Since when.
        since: Mono,
    },
    /// Everything before this instant is final. A gap that is certain and not over lasts at least
    /// until then.
    Settled(Mono),
    /// From an instant on, no life served the roles. This is certain; the end is not known yet.
    GapBegan(Place, Mono, Reason),
    /// A gap is over and final.
    Gap(Place, Interval, Reason),
    /// An overlap is over and final.
    Overlap(Place, Interval),
    /// Service passed from one life to another. Final.
    Takeover(Place, Interval),
    /// A fault window is over: all its victims are healed, or its trial has ended.
    FaultOver {
        /// The fault.
        fault: FaultId,
        /// The window.
        window: FaultWindow,
        /// When it ended.
        until: Mono,
    },
    /// Since this instant another roster holds, and what follows is about its roles.
    Changed(Mono),
    /// Facts came too late to be counted.
    Late {
        /// The number of such facts since the last event of this kind.
        facts: u64,
        /// How late the last of them was.
        by: Duration,
    },
}

/// Where an event happened.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The group; `None` means all groups together.
    pub group: Option<GroupName>,
    /// The roles. The event counts for each of them.
    pub roles: RoleClass,
}

/// The counters of one place. They start at the first instant in which the place was certainly
/// led. All of them are final, so no number ever decreases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// The start of counting; `None` before the place is led for the first time.
    pub since: Option<Mono>,
    /// How long no life served it.
    pub unavailable: Duration,
    /// How long it is unknown whether a life served it.
    pub unknown: Duration,
    /// How long two or more lives claimed it; only for groups.
    pub overlap: Duration,
    /// How often service passed from one life to another; only for groups.
    pub takeovers: u64,
}
