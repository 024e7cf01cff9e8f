//! What those who judge must know of a topology: its groups, members, roles and partitions, what is
//! promised of it and what a fault may cost. Nothing of how it is set up.

mod bounds;
mod objective;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use tandem_facts::ids::{ClusterName, GroupName, MemberId, PartitionId, RoleIndex, TopologyName};
pub use tandem_facts::observation::Mode;
use tandem_facts::roles::{RoleClass, Roles};

pub use bounds::{Bound, Bounds, Range};
pub use objective::Objective;

/// A topology, as those see it who judge what happens in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    /// The topology's name.
    pub topology: TopologyName,
    /// The roles; a role's index is its place.
    pub roles: Roles,
    /// The clusters, and the groups whose brokers each of them shares.
    pub clusters: BTreeMap<ClusterName, BTreeSet<GroupName>>,
    /// The groups.
    pub groups: BTreeMap<GroupName, RosterGroup>,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RosterGroup {
    /// Its members, in order.
    pub members: Vec<MemberId>,
    /// How many partitions its ledger has, `|M|`.
    pub partitions: NonZeroU32,
    /// When a claim holds and what ends it.
    pub mode: Mode,
    /// What a fault may cost it.
    pub bounds: Bounds,
}

impl Roster {
    /// The group of a member, if the roster knows it.
    #[must_use]
    pub fn group_of(&self, member: &MemberId) -> Option<&GroupName> {
        self.groups.iter().find(|(_, group)| group.members.contains(member)).map(|(name, _)| name)
    }

    /// The classes of roles that are on the same partitions in every group.
    pub fn classes(&self) -> impl Iterator<Item = RoleClass> + use<> {
        let widths: Vec<_> = self.groups.values().map(|group| group.partitions).collect();
        self.roles.classes(&widths)
    }

    /// The classes of roles that are on the same partition of one group, by partition.
    pub fn classes_of(&self, group: &RosterGroup) -> impl Iterator<Item = RoleClass> + use<> {
        self.roles.classes(&[group.partitions])
    }
}

impl RosterGroup {
    /// On which partition a role is.
    #[must_use]
    pub fn partition(&self, role: RoleIndex) -> PartitionId {
        role.partition(self.partitions)
    }
}

impl From<&Self> for Roster {
    fn from(roster: &Self) -> Self {
        roster.clone()
    }
}
