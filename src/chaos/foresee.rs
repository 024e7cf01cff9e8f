//! Describes the victims of a strike, as far as they are known before the run.

use std::collections::BTreeSet;

use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;

use super::resolve::{shuffled, shuffled_roles};
use super::{Brokers, Pick, Series, Sight, Step, Target};
use crate::ids::{GroupName, MemberId, PartitionId, RoleName};
use crate::topology::{Address, Plan};

impl Step {
    /// Describes the victims of this fault with this target.
    pub(super) fn describe_for(&self, target: &Target) -> String {
        let Some(series) = self.fault.series() else { return target.describe() };
        let all = match target {
            Target::GroupsAcross { mode: Pick::All, across } => {
                Some(across.groups.as_ref().map_or("all groups".to_owned(), list))
            }
            Target::GroupsAcross { .. }
            | Target::Member(_)
            | Target::LeaderOf { .. }
            | Target::LeadersAcross { .. }
            | Target::Group { .. }
            | Target::Coordinator { .. }
            | Target::Leading { .. }
            | Target::Brokers { .. }
            | Target::Host(_)
            | Target::Machine(_)
            | Target::Cluster(_) => None,
        };
        match (series, all) {
            (Series::Drawn(_), Some(groups)) => format!("one member of {groups} at a time"),
            (Series::InTurn(_), Some(groups)) => {
                format!("every member of {groups}, one after the other")
            }
            (Series::Drawn(_), None) => format!("one at a time of {}", target.describe()),
            (Series::InTurn(_), None) => format!("{}, one after the other", target.describe()),
        }
    }
}

impl Target {
    /// Describes the target for any seed.
    #[must_use]
    pub fn describe(&self) -> String {
        let role = |role: &Option<RoleName>| match role {
            Some(role) => role.to_string(),
            None => "any role".to_owned(),
        };
        match self {
            Self::Member(member) => format!("member {member}"),
            Self::LeaderOf { role: of, group } => {
                format!("the leader of {} in {}", role(of), named(group.as_ref(), "group"))
            }
            Self::LeadersAcross { role: of, across } => {
                let groups = across.groups.as_ref().map_or("all groups".to_owned(), list);
                format!("the leaders of {}, the same role, in {groups}, at once", role(of))
            }
            Self::Group { group, mode } => {
                format!("{} of {}", mode.describe(), named(group.as_ref(), "group"))
            }
            Self::GroupsAcross { mode, across } => {
                let groups = across.groups.as_ref().map_or("all groups".to_owned(), list);
                format!("{} of each of {groups}, at once", mode.describe())
            }
            Self::Coordinator { group } => {
                format!("the broker that coordinates {}", named(group.as_ref(), "group"))
            }
            Self::Leading { role: of, group } => {
                let group = named(group.as_ref(), "group");
                format!("the broker that leads the partition of {} in {group}", role(of))
            }
            Self::Brokers { cluster } => match cluster {
                Some(cluster) => format!("all brokers of cluster {cluster}"),
                None => "all brokers of any cluster".to_owned(),
            },
            Self::Host(Some(host)) => format!("all members on host {host}"),
            Self::Host(None) => "all members on any host".to_owned(),
            Self::Machine(Some(host)) => format!("everything on host {host}"),
            Self::Machine(None) => "everything on any host".to_owned(),
            Self::Cluster(cluster) => format!("all members on cluster {cluster}"),
        }
    }

    /// The members that it can hit; none if the target is brokers.
    #[must_use]
    pub fn candidates(&self, plan: &Plan) -> Vec<MemberId> {
        match self {
            Self::Member(member) => vec![member.clone()],
            Self::Coordinator { .. }
            | Self::Leading { .. }
            | Self::Brokers { .. }
            | Self::LeaderOf { .. }
            | Self::LeadersAcross { .. }
            | Self::Group { .. }
            | Self::GroupsAcross { .. }
            | Self::Host(_)
            | Self::Machine(_)
            | Self::Cluster(_) => {
                let groups = self.manned(plan);
                let groups = groups.iter().filter_map(|name| plan.groups.get(name));
                groups.flat_map(|group| group.members.clone()).collect()
            }
        }
    }

    /// The victims of a strike with this seed, if all members run and all roles are led.
    #[must_use]
    pub fn foreseen(&self, plan: &Plan, seed: u64) -> String {
        let mut chance = ChaCha12Rng::seed_from_u64(seed);
        match self {
            // Drawn in the same order as the strike does.
            Self::LeaderOf { role, group: _ } => {
                let groups = shuffled(self.groups(plan), &mut chance);
                let group = groups.first().map_or_else(String::new, ToString::to_string);
                format!("the leader of {} in {group}", drawn(role.as_ref(), plan, &mut chance))
            }
            Self::LeadersAcross { role, across: _ } => {
                let role = drawn(role.as_ref(), plan, &mut chance);
                format!("the leaders of {role} in {}", list(&self.groups(plan)))
            }
            Self::Coordinator { .. } | Self::Leading { .. } | Self::Brokers { .. } => {
                let brokers = self.brokers(plan, seed);
                brokers.map_or_else(String::new, |brokers| brokers.describe(plan))
            }
            Self::Group { mode: Pick::Leaders, .. } => {
                let groups = shuffled(self.groups(plan), &mut chance);
                let group = groups.first().map_or_else(String::new, ToString::to_string);
                format!("all leaders in {group}")
            }
            Self::GroupsAcross { mode: Pick::Leaders, .. } => {
                format!("all leaders in {}", list(&self.groups(plan)))
            }
            Self::Member(_)
            | Self::Group { .. }
            | Self::GroupsAcross { .. }
            | Self::Host(_)
            | Self::Machine(_)
            | Self::Cluster(_) => {
                let of = |group: &GroupName| plan.groups.get(group).map(|it| it.members.clone());
                let living = |group: &GroupName| of(group).unwrap_or_default();
                let no_leaders = |_: &GroupName, _: PartitionId| Vec::new();
                let sight = Sight { plan, leaders: &no_leaders, living: &living };
                let brokers = self.brokers(plan, seed).map(|brokers| brokers.describe(plan));
                match self.resolve(sight, seed) {
                    Ok(victims) => {
                        let victims = list(&victims.into_iter().collect());
                        let all = [victims].into_iter().chain(brokers);
                        all.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ")
                    }
                    Err(error) => error.to_string(),
                }
            }
        }
    }
}

impl Brokers {
    /// Describes the brokers.
    fn describe(&self, plan: &Plan) -> String {
        let at = |group: &GroupName| {
            let cluster = plan.groups.get(group).map(|group| &group.cluster)?;
            let embedded = plan.clusters.get(cluster)?.address == Address::Embedded;
            Some((cluster.clone(), embedded))
        };
        match self {
            Self::AllOf(cluster) => format!("all brokers of cluster {cluster}"),
            Self::OnHost(host) => {
                let clusters = plan.clusters_on(host).into_iter();
                list(&clusters.map(|cluster| format!("the broker of cluster {cluster}")).collect())
            }
            Self::CoordinatorOf(group) | Self::LeaderOf(group, _) => match (self, at(group)) {
                (_, Some((cluster, true))) => format!("the broker of cluster {cluster}"),
                (Self::LeaderOf(_, partition), Some((cluster, false))) => format!(
                    "the broker of cluster {cluster} that leads partition {partition} of {group}"
                ),
                (Self::CoordinatorOf(_) | Self::AllOf(_) | Self::OnHost(_), Some((cluster, _))) => {
                    format!("the broker of cluster {cluster} that coordinates {group}")
                }
                (_, None) => format!("a broker of {group}"),
            },
        }
    }
}

impl Pick {
    fn describe(self) -> String {
        match self {
            Self::One => "one member".to_owned(),
            Self::Minority => "a minority".to_owned(),
            Self::Majority => "a majority".to_owned(),
            Self::All => "all members".to_owned(),
            Self::Leaders => "all leaders".to_owned(),
            Self::Count(1) => "1 member".to_owned(),
            Self::Count(count) => format!("{count} members"),
            Self::Percent(percent) => format!("{percent}% of the members"),
        }
    }
}

/// The wanted role, or the one that the strike tries first.
fn drawn(role: Option<&RoleName>, plan: &Plan, chance: &mut ChaCha12Rng) -> String {
    let any = || plan.roles.name(*shuffled_roles(&plan.roles, chance).first()?);
    role.cloned().or_else(any).map_or_else(String::new, |role| role.to_string())
}

fn named(name: Option<&GroupName>, what: &str) -> String {
    name.map_or_else(|| format!("any {what}"), ToString::to_string)
}

pub(super) fn list<T: ToString>(names: &BTreeSet<T>) -> String {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    names.join(", ")
}
