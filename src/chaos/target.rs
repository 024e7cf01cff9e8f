//! The target of a step.

use std::collections::BTreeSet;

use crate::ids::{ClusterName, GroupName, HostName, MemberId, RoleName};
use crate::time::Span;

/// The target of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// This member.
    Member(MemberId),
    /// The leader of the role in the group.
    LeaderOf {
        /// Which role; `None` means a seeded choice.
        role: Option<RoleName>,
        /// In which group; `None` means a seeded choice.
        group: Option<GroupName>,
    },
    /// The leaders of the role in each of these groups, all at once.
    LeadersAcross {
        /// Which role, the same in every group; `None` means a seeded choice.
        role: Option<RoleName>,
        /// In which groups, and how close together.
        across: Across,
    },
    /// Some members of a group; without a group, a seeded choice.
    Group {
        /// Which group.
        group: Option<GroupName>,
        /// How many of its members.
        mode: Pick,
    },
    /// The broker that coordinates a group; without a group, a seeded choice.
    Coordinator {
        /// Which group.
        group: Option<GroupName>,
    },
    /// The broker that leads a role's partition in the ledger of a group.
    Leading {
        /// Which role; `None` means a seeded choice.
        role: Option<RoleName>,
        /// In the ledger of which group; `None` means a seeded choice.
        group: Option<GroupName>,
    },
    /// All brokers of a cluster; without a name, a seeded choice among clusters with groups.
    Brokers {
        /// Which cluster.
        cluster: Option<ClusterName>,
    },
    /// Every member on this machine, of all groups; `None` means a seeded choice.
    Host(Option<HostName>),
    /// Everything with this machine's label: members of all groups, and embedded brokers; `None`
    /// means a seeded choice.
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
    /// Which groups; `None` means all.
    pub groups: Option<BTreeSet<GroupName>>,
    /// The most time between the first and the last victim; otherwise the fault has failed.
    pub within: Span,
}

/// How many members of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// One, a seeded choice.
    One,
    /// The largest number that is less than half.
    Minority,
    /// The smallest number that is more than half.
    Majority,
    /// All.
    All,
    /// All members that lead a role.
    Leaders,
    /// This many, a seeded choice.
    Count(u32),
    /// This percentage, rounded up, a seeded choice.
    Percent(u32),
}
