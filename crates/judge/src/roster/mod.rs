//! The parts of a topology that a judgement needs: groups, members, roles, partitions, the
//! objective, and the possible cost of faults. Nothing about how it is set up.

mod bounds;
mod objective;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use tandem_facts::ids::{ClusterName, GroupName, MemberId, PartitionId, RoleIndex, TopologyName};
pub use tandem_facts::observation::Mode;
use tandem_facts::observation::{Fact, RunEvent, What};
use tandem_facts::roles::{RoleClass, Roles};

pub use bounds::{Bound, Bounds, Range, UNLIMITED};
pub use objective::Objective;

/// A topology, as far as a judgement needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    /// The topology's name.
    pub topology: TopologyName,
    /// The roles, by index.
    pub roles: Roles,
    /// The clusters, each with the groups on its brokers.
    pub clusters: BTreeMap<ClusterName, BTreeSet<GroupName>>,
    /// The groups.
    pub groups: BTreeMap<GroupName, RosterGroup>,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RosterGroup {
    /// The members, in order.
    pub members: Vec<MemberId>,
    /// The number of partitions of the group's ledger, `|M|`.
    pub partitions: NonZeroU32,
    /// Whether it may have members of which nothing is known.
    pub foreign: bool,
    /// Whether its members elect among themselves, so that they have no brokers.
    pub alone: bool,
    /// When a claim holds, and what ends it.
    pub mode: Mode,
    /// The possible cost of faults to the group.
    pub bounds: Bounds,
}

impl Roster {
    /// The group of a member, if the member is in the roster.
    #[must_use]
    pub fn group_of(&self, member: &MemberId) -> Option<&GroupName> {
        self.groups.iter().find(|(_, group)| group.members.contains(member)).map(|(name, _)| name)
    }

    /// Adds the member that a fact names, if the run did not start it. A name belongs to
    /// the group that bore it first.
    pub fn admit(&mut self, fact: &Fact) {
        if let (What::Run(RunEvent::Started { external: Some(external), .. }), Some(life)) =
            (&fact.what, &fact.life)
            && self.group_of(&life.member).is_none()
            && let Some(group) = self.groups.get_mut(&external.group)
        {
            group.members.push(life.member.clone());
        }
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
    /// The partition of a role.
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
