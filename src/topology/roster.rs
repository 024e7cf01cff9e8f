//! The parts of a plan that the judging code needs.

use super::Plan;
use crate::roster::{Roster, RosterGroup};

impl From<&Plan> for Roster {
    fn from(plan: &Plan) -> Self {
        let clusters = plan.clusters.keys().map(|name| (name.clone(), plan.on(name)));
        // What a group without members of ours leads is unknown, and nothing is claimed of it.
        let observed = plan.groups.iter().filter(|(_, group)| group.has_members());
        let groups = observed.map(|(name, group)| {
            let group = RosterGroup {
                members: group.members.clone(),
                partitions: group.partitions,
                mode: group.pace.mode,
                bounds: group.bounds.clone(),
            };
            (name.clone(), group)
        });
        Self {
            topology: plan.topology.clone(),
            roles: plan.roles.clone(),
            clusters: clusters.collect(),
            groups: groups.collect(),
        }
    }
}
