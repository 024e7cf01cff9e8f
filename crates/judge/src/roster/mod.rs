//! What those who judge must know of a topology: its groups, members, roles and partitions, what is
//! promised of it and what a fault may cost. Nothing of how it is set up.

mod bounds;
mod objective;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tandem_facts::ids::{
    ClusterName, GroupName, MemberId, PartitionId, RoleIndex, RoleName, TopologyName,
};

pub use bounds::{Bound, Bounds, Range};
pub use objective::Objective;

/// When a claim holds and what ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Revocation ends no claim: only lapse, leave or death does.
    NonExclusive,
}

/// A topology, as those see it who judge what happens in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    /// The topology's name.
    pub topology: TopologyName,
    /// The roles; a role's index is its place.
    pub roles: Vec<RoleName>,
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
    pub width: usize,
    /// On which partition each role is, by the role's index.
    pub role_partitions: Vec<PartitionId>,
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

    /// The name of a role.
    #[must_use]
    pub fn role(&self, role: RoleIndex) -> Option<&RoleName> {
        self.roles.get(usize::try_from(role.0).ok()?)
    }
}

impl From<&Self> for Roster {
    fn from(roster: &Self) -> Self {
        roster.clone()
    }
}
