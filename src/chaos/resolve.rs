//! Resolves a target to its victims when the step strikes. Pure: the caller passes the leaders and
//! the running members.

use std::collections::BTreeSet;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;

use super::{Pick, Target};
use crate::ids::{ClusterName, GroupName, HostName, MemberId, PartitionId, RoleIndex, RoleName};
use crate::roles::Roles;
use crate::topology::Plan;

/// The brokers to hit, with every choice made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Brokers {
    /// The coordinator of this group.
    CoordinatorOf(GroupName),
    /// The leader of this partition in the ledger of this group.
    LeaderOf(GroupName, PartitionId),
    /// All brokers of this cluster.
    AllOf(ClusterName),
    /// All embedded brokers on this machine; there may be none.
    OnHost(HostName),
}

/// What is known of the groups at the instant of the strike.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The members that lead a partition in a group now.
    pub leaders: &'a dyn Fn(&GroupName, PartitionId) -> Vec<MemberId>,
    /// The members of a group whose process runs now.
    pub living: &'a dyn Fn(&GroupName) -> Vec<MemberId>,
}

/// Why a target has no victims now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// The member is not running.
    #[error("member {0} is not running")]
    Down(MemberId),
    /// The role has no leader.
    #[error("{0} has no leader")]
    Leaderless(String),
    /// No member runs where all were to be hit.
    #[error("no member {0} is running")]
    NoneRunning(String),
    /// Fewer members run than the target needs.
    #[error("only {running} of {wanted} wanted members of {group} are running")]
    Few {
        /// The group.
        group: GroupName,
        /// How many are wanted.
        wanted: u32,
        /// How many are running.
        running: u32,
    },
}

impl Target {
    /// The groups that it can hit.
    #[must_use]
    pub fn groups(&self, plan: &Plan) -> BTreeSet<GroupName> {
        let all = || plan.groups.keys().cloned().collect();
        // Of the others there are no brokers.
        let on_kafka = || plan.groups_where(|group| plan.is_on_kafka(group));
        match self {
            Self::Member(member) => plan.group_of(member).cloned().into_iter().collect(),
            Self::Host(Some(host)) => plan.groups_where(|group| group.host.as_ref() == Some(host)),
            Self::Host(None) => plan.groups_where(|group| group.host.is_some()),
            Self::Machine(Some(host)) => {
                plan.groups_where(|group| plan.hosts_of(group).any(|it| it == host))
            }
            Self::Machine(None) => plan.groups_where(|group| plan.hosts_of(group).next().is_some()),
            Self::Cluster(cluster) => plan.groups_where(|group| group.cluster == *cluster),
            Self::LeaderOf { group: Some(group), .. } | Self::Group { group: Some(group), .. } => {
                [group.clone()].into()
            }
            Self::LeaderOf { group: None, .. } | Self::Group { group: None, .. } => all(),
            Self::Coordinator { group: None }
            | Self::Leading { group: None, .. }
            | Self::Brokers { cluster: None } => on_kafka(),
            // The broker also serves the other groups of its cluster.
            Self::Coordinator { group: Some(group) } | Self::Leading { group: Some(group), .. } => {
                plan.beside(group)
            }
            Self::Brokers { cluster: Some(cluster) } => plan.on(cluster),
            Self::LeadersAcross { across, .. } | Self::GroupsAcross { across, .. } => {
                across.groups.clone().unwrap_or_else(all)
            }
        }
    }

    /// Whether its victims are brokers alone.
    pub(super) const fn names_brokers(&self) -> bool {
        matches!(self, Self::Coordinator { .. } | Self::Leading { .. } | Self::Brokers { .. })
    }

    /// The groups whose members it can hit.
    #[must_use]
    pub fn manned(&self, plan: &Plan) -> BTreeSet<GroupName> {
        if self.names_brokers() {
            BTreeSet::new()
        } else if let Self::Machine(host) = self {
            Self::Host(host.clone()).groups(plan)
        } else {
            self.groups(plan)
        }
    }

    /// The machines that it can hit, if it names machines.
    #[must_use]
    pub fn hosts(&self, plan: &Plan) -> BTreeSet<HostName> {
        let members = plan.groups.values().filter_map(|group| group.host.as_ref());
        let brokers = plan.clusters.values().filter_map(|cluster| cluster.host.as_ref());
        match self {
            Self::Host(Some(host)) | Self::Machine(Some(host)) => [host.clone()].into(),
            Self::Host(None) => members.cloned().collect(),
            Self::Machine(None) => members.chain(brokers).cloned().collect(),
            Self::Member(_)
            | Self::LeaderOf { .. }
            | Self::LeadersAcross { .. }
            | Self::Group { .. }
            | Self::GroupsAcross { .. }
            | Self::Coordinator { .. }
            | Self::Leading { .. }
            | Self::Brokers { .. }
            | Self::Cluster(_) => BTreeSet::new(),
        }
    }

    /// The sets of groups of which it hits exactly one, all of its groups at once; together they
    /// are [`groups`](Self::groups).
    #[must_use]
    pub fn choices(&self, plan: &Plan) -> BTreeSet<BTreeSet<GroupName>> {
        let groups = self.groups(plan);
        match self {
            Self::Host(_) => {
                self.hosts(plan).into_iter().map(|it| Self::Host(Some(it)).groups(plan)).collect()
            }
            Self::Machine(_) => self
                .hosts(plan)
                .into_iter()
                .map(|host| Self::Machine(Some(host)).groups(plan))
                .collect(),
            Self::Cluster(_) | Self::LeadersAcross { .. } | Self::GroupsAcross { .. } => {
                [groups].into()
            }
            // All groups that share a broker are hit together.
            Self::Coordinator { .. } | Self::Leading { .. } | Self::Brokers { .. } => {
                groups.iter().map(|group| plan.beside(group)).collect()
            }
            Self::Member(_) | Self::LeaderOf { .. } | Self::Group { .. } => {
                groups.into_iter().map(|group| [group].into()).collect()
            }
        }
    }

    /// Chooses the brokers to hit, if the target is brokers.
    #[must_use]
    pub fn brokers(&self, plan: &Plan, seed: u64) -> Option<Brokers> {
        let mut chance = ChaCha12Rng::seed_from_u64(seed);
        let on_kafka = || plan.groups.iter().filter(|(_, group)| plan.is_on_kafka(group));
        let mut any = || shuffled(on_kafka().map(|(name, _)| name.clone()), &mut chance).pop();
        match self {
            Self::Coordinator { group } => group.clone().or_else(any).map(Brokers::CoordinatorOf),
            Self::Leading { role, group } => {
                let group = group.clone().or_else(&mut any)?;
                let role = match role {
                    Some(role) => plan.role(role)?,
                    None => shuffled_roles(&plan.roles, &mut chance).pop()?,
                };
                let partition = plan.groups.get(&group)?.partition(role);
                Some(Brokers::LeaderOf(group, partition))
            }
            Self::Brokers { cluster } => {
                let used = on_kafka().map(|(_, group)| group.cluster.clone());
                let used: BTreeSet<ClusterName> = used.collect();
                let any = || shuffled(used, &mut chance).pop();
                cluster.clone().or_else(any).map(Brokers::AllOf)
            }
            // The first draw, as in the choice of its members, so that both choose the same
            // machine.
            Self::Machine(_) => shuffled(self.hosts(plan), &mut chance).pop().map(Brokers::OnHost),
            Self::Member(_)
            | Self::LeaderOf { .. }
            | Self::LeadersAcross { .. }
            | Self::Group { .. }
            | Self::Host(_)
            | Self::Cluster(_)
            | Self::GroupsAcross { .. } => None,
        }
    }

    /// Chooses the victims. Every choice depends on the seed alone.
    ///
    /// # Errors
    /// No victim is available now.
    pub fn resolve(&self, sight: Sight<'_>, seed: u64) -> Result<Vec<MemberId>, Unresolved> {
        let mut chance = ChaCha12Rng::seed_from_u64(seed);
        match self {
            Self::Member(member) => {
                let group = sight.plan.group_of(member);
                let runs = group.is_some_and(|group| (sight.living)(group).contains(member));
                if runs { Ok(vec![member.clone()]) } else { Err(Unresolved::Down(member.clone())) }
            }
            Self::LeaderOf { role, group } => {
                let groups = shuffled(self.groups(sight.plan), &mut chance);
                for role in sight.roles(role.as_ref(), &mut chance) {
                    for group in &groups {
                        if let Some(leader) = sight.leader(group, role, &mut chance) {
                            return Ok(vec![leader]);
                        }
                    }
                }
                Err(leaderless(role.as_ref(), group.as_ref()))
            }
            Self::LeadersAcross { role, .. } => {
                let groups = self.groups(sight.plan);
                for role in sight.roles(role.as_ref(), &mut chance) {
                    let leaders: Option<Vec<_>> =
                        groups.iter().map(|group| sight.leader(group, role, &mut chance)).collect();
                    if let Some(leaders) = leaders {
                        return Ok(leaders);
                    }
                }
                Err(leaderless(role.as_ref(), None))
            }
            Self::Host(_) | Self::Machine(_) => {
                let Some(host) = shuffled(self.hosts(sight.plan), &mut chance).pop() else {
                    return Err(Unresolved::NoneRunning("on any host".to_owned()));
                };
                let place = format!("on host {host}");
                let brokers = sight.plan.clusters_on(&host);
                match sight.all(&Self::Host(Some(host)), || place) {
                    Err(_) if matches!(self, Self::Machine(_)) && !brokers.is_empty() => {
                        Ok(Vec::new())
                    }
                    found => found,
                }
            }
            Self::Cluster(cluster) => sight.all(self, || format!("on cluster {cluster}")),
            // These targets have no members.
            Self::Coordinator { .. } | Self::Leading { .. } | Self::Brokers { .. } => {
                Ok(Vec::new())
            }
            Self::Group { mode, .. } => {
                let groups = shuffled(self.groups(sight.plan), &mut chance);
                match groups.first() {
                    Some(group) => sight.pick(group, *mode, &mut chance),
                    None => Ok(Vec::new()),
                }
            }
            Self::GroupsAcross { mode, .. } => {
                let mut victims = Vec::new();
                for group in self.groups(sight.plan) {
                    victims.extend(sight.pick(&group, *mode, &mut chance)?);
                }
                Ok(victims)
            }
        }
    }
}

impl Sight<'_> {
    /// The wanted role, or all in a random order.
    fn roles(self, role: Option<&RoleName>, chance: &mut ChaCha12Rng) -> Vec<RoleIndex> {
        match role {
            Some(role) => self.plan.role(role).into_iter().collect(),
            None => shuffled_roles(&self.plan.roles, chance),
        }
    }

    /// The leader of the role in the group; one of them if there are several.
    fn leader(
        self,
        group: &GroupName,
        role: RoleIndex,
        chance: &mut ChaCha12Rng,
    ) -> Option<MemberId> {
        let partition = self.plan.groups.get(group)?.partition(role);
        shuffled((self.leaders)(group, partition), chance).pop()
    }

    /// All running members of the target's groups.
    fn all(
        self,
        target: &Target,
        place: impl FnOnce() -> String,
    ) -> Result<Vec<MemberId>, Unresolved> {
        let groups = target.groups(self.plan);
        let victims: Vec<_> = groups.iter().flat_map(|group| (self.living)(group)).collect();
        if victims.is_empty() { Err(Unresolved::NoneRunning(place())) } else { Ok(victims) }
    }

    fn pick(
        self,
        group: &GroupName,
        mode: Pick,
        chance: &mut ChaCha12Rng,
    ) -> Result<Vec<MemberId>, Unresolved> {
        let Some(planned) = self.plan.groups.get(group) else { return Ok(Vec::new()) };
        let size = u32::try_from(planned.members.len()).unwrap_or(u32::MAX);
        let candidates: Vec<MemberId> = match mode {
            Pick::Leaders => {
                let led = (0..planned.partitions.get()).map(PartitionId);
                let leaders: BTreeSet<_> =
                    led.flat_map(|partition| (self.leaders)(group, partition)).collect();
                leaders.into_iter().collect()
            }
            Pick::One
            | Pick::Minority
            | Pick::Majority
            | Pick::All
            | Pick::Count(_)
            | Pick::Percent(_) => (self.living)(group),
        };
        let running = u32::try_from(candidates.len()).unwrap_or(u32::MAX);
        let wanted = match mode {
            // All running members, but at least one.
            Pick::All | Pick::Leaders => running.max(1),
            Pick::One | Pick::Minority | Pick::Majority | Pick::Count(_) | Pick::Percent(_) => {
                mode.of(size)
            }
        };
        if running < wanted {
            return Err(Unresolved::Few { group: group.clone(), wanted, running });
        }
        let mut victims = shuffled(candidates, chance);
        victims.truncate(usize::try_from(wanted).unwrap_or(usize::MAX));
        victims.sort();
        Ok(victims)
    }
}

/// Returns the items in a random order that does not depend on their initial order.
pub(super) fn shuffled<T: Ord>(
    things: impl IntoIterator<Item = T>,
    chance: &mut ChaCha12Rng,
) -> Vec<T> {
    let mut things: Vec<T> = things.into_iter().collect();
    things.sort();
    things.shuffle(chance);
    things
}

/// All roles in a random order, drawn from their sorted names or from the numbers of counted roles.
pub(super) fn shuffled_roles(roles: &Roles, chance: &mut ChaCha12Rng) -> Vec<RoleIndex> {
    match roles {
        Roles::Named(names) => {
            let all = shuffled(names.iter().zip(roles.indices()), chance);
            all.into_iter().map(|(_, role)| role).collect()
        }
        Roles::Counted(_) => shuffled(roles.indices(), chance),
    }
}

fn leaderless(role: Option<&RoleName>, group: Option<&GroupName>) -> Unresolved {
    let role = role.map_or_else(|| "any role".to_owned(), |role| format!("role {role}"));
    let group = group.map_or_else(String::new, |group| format!(" in group {group}"));
    Unresolved::Leaderless(format!("{role}{group}"))
}
