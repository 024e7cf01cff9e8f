//! What the live fold tells.

use std::time::Duration;

use super::FaultWindow;
use crate::timeline::Interval;
use tandem_facts::ids::{FaultId, GroupName, Life, PartitionId};
use tandem_facts::roles::RoleClass;
use tandem_facts::time::Mono;

/// How all roles stand at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Health {
    /// Not every group has led all of its roles yet.
    #[default]
    Starting,
    /// Every group leads every role.
    Led,
    /// A group does not lead some role, and another does.
    Degraded,
    /// Some role is led in no group.
    Down,
}

impl Health {
    /// How a role stands that is led in so many groups; in so many more it was `lost`, and in the
    /// rest it has never been led.
    #[must_use]
    pub const fn of(led: usize, lost: usize, never: usize) -> Self {
        match (led, lost, never) {
            (0, 1.., _) => Self::Down,
            (_, _, 1..) => Self::Starting,
            (_, 1.., 0) => Self::Degraded,
            (_, 0, 0) => Self::Led,
        }
    }

    /// The greater, the worse: what was never led is missed less than what no longer is.
    pub(super) const fn badness(self) -> u8 {
        match self {
            Self::Led => 0,
            Self::Degraded => 1,
            Self::Starting => 2,
            Self::Down => 3,
        }
    }
}

/// What happened. Instants are when it was so, which is some time before it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Who leads a partition in a group has changed. May be corrected by a later one.
    Leaders {
        /// In which group.
        group: GroupName,
        /// Which partition.
        partition: PartitionId,
        /// The lives that lead it now; none where it is empty.
        leaders: Vec<Life>,
        /// Since when.
        since: Mono,
    },
    /// A partition is led in a group no longer, or is again, as far as is known: no life claimed
    /// it, or it is certain that none of those who did served it. May be corrected by a later one.
    Unled {
        /// In which group.
        group: GroupName,
        /// Which partition.
        partition: PartitionId,
        /// When it was not; without an end while it is not.
        span: Interval,
    },
    /// How all roles stand has changed, or since when. May be corrected by a later one.
    Health {
        /// What it is now.
        now: Health,
        /// Since when.
        since: Mono,
    },
    /// Everything before this instant is final: a gap that is certain and not over lasts until
    /// then at least.
    Settled(Mono),
    /// It was not served from an instant on, as is certain now; the end is still to come.
    GapBegan(Place, Mono),
    /// A gap is over, and final.
    Gap(Place, Interval),
    /// An overlap is over, and final.
    Overlap(Place, Interval),
    /// Service passed from one life to another; final.
    Takeover(Place, Interval),
    /// A fault window is over: all whom the fault has struck are healed, or its trial is over.
    FaultOver {
        /// Which fault.
        fault: FaultId,
        /// The window.
        window: FaultWindow,
        /// When it was over.
        until: Mono,
    },
    /// Facts came so late that what they say of the time before could not be counted.
    Late {
        /// How many since this was last told.
        facts: u64,
        /// How far behind the last of them was.
        by: Duration,
    },
}

/// Where something happened.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// In which group; in all together where there is none.
    pub group: Option<GroupName>,
    /// The roles that it befell; each of them counts.
    pub roles: RoleClass,
}

/// What was counted of one place from the first instant in which it was surely led, all of it
/// final: no number ever goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Since when it is counted; nothing before it was first led.
    pub since: Option<Mono>,
    /// For how long no life served it.
    pub unavailable: Duration,
    /// For how long it is not known whether a life served it.
    pub unknown: Duration,
    /// For how long two or more claimed it; of groups only.
    pub overlap: Duration,
    /// How often service passed from one life to another; of groups only.
    pub takeovers: u64,
}
