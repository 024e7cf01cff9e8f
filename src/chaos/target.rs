//! To whom something is done, as an experiment says it.

use std::collections::BTreeSet;

use crate::ids::{ClusterName, GroupName, HostName, MemberId, RoleName};
use crate::time::Span;

/// To whom it is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// This member.
    Member(MemberId),
    /// Whoever leads the role (any: a seeded choice) in the group (any: a seeded choice).
    LeaderOf {
        /// Which role; a seeded choice where nothing is named.
        role: Option<RoleName>,
        /// In which group; a seeded choice where nothing is named.
        group: Option<GroupName>,
    },
    /// Whoever leads the role in each of these groups, all at once.
    LeadersAcross {
        /// Which role, the same in every group; a seeded choice where nothing is named.
        role: Option<RoleName>,
        /// In which groups, and how close together.
        across: Across,
    },
    /// Some members of a group; a seeded choice where no group is named.
    Group {
        /// Which group.
        group: Option<GroupName>,
        /// How many of its members.
        mode: Pick,
    },
    /// The broker that coordinates a group; a seeded choice where no group is named.
    Coordinator {
        /// Which group.
        group: Option<GroupName>,
    },
    /// The broker that leads a role's partition in the ledger of a group.
    Leading {
        /// Which role; a seeded choice where nothing is named.
        role: Option<RoleName>,
        /// In the ledger of which group; a seeded choice where nothing is named.
        group: Option<GroupName>,
    },
    /// All brokers of a cluster; of a seeded choice among those with groups where none is named.
    Brokers {
        /// Which cluster.
        cluster: Option<ClusterName>,
    },
    /// Every member on this machine, whatever its group; a seeded choice where none is named.
    Host(Option<HostName>),
    /// All that bears this machine's label: members, whatever their group, and embedded brokers; a
    /// seeded choice where none is named.
    Machine(Option<HostName>),
    /// Every member of every group on this cluster.
    Cluster(ClusterName),
    /// Some members of each of these groups, all at once.
    GroupsAcross {
        /// How many members of each.
        mode: Pick,
        /// Which groups, and how close together.
        across: Across,
    },
}

/// Several groups with one deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Across {
    /// Which groups; all where nothing is named.
    pub groups: Option<BTreeSet<GroupName>>,
    /// The last victim is struck no later than this after the first, or the fault has failed.
    pub within: Span,
}

/// How many members of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// One, a seeded choice.
    One,
    /// The most that are fewer than half.
    Minority,
    /// The least that are more than half.
    Majority,
    /// All.
    All,
    /// All that lead something.
    Leaders,
    /// So many, a seeded choice.
    Count(u32),
    /// So many of a hundred, rounded up, a seeded choice.
    Percent(u32),
}
