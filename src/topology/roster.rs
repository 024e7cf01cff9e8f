//! The parts of a plan that the judging code needs.

use super::{Foreign, Plan};
use crate::roster::{Roster, RosterGroup};

impl From<&Plan> for Roster {
    fn from(plan: &Plan) -> Self {
        let clusters = plan.clusters.keys().map(|name| (name.clone(), plan.on(name)));
        let groups = plan.groups.iter().map(|(name, group)| {
            let group = RosterGroup {
                members: group.members.clone(),
                partitions: group.partitions,
                foreign: group.foreign == Foreign::Allow,
                alone: plan.elects_alone(group),
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
