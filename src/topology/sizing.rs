//! Warnings about the sizes and the pace of a plan.

use super::{Address, Mode, Plan, PlannedGroup, Terms, among, exclusive, paper, shared_fate};
use crate::ids::GroupName;
use crate::time::Span;

/// The default of `group.min.session.timeout.ms`.
const SESSION_LEAST: Span = Span::ms(6_000);

/// The warnings, one sentence each.
pub(super) fn warnings(plan: &Plan) -> Vec<String> {
    let mut warnings = Vec::new();
    if plan.groups.len() == 1 {
        warnings.push(
            "a single group has no leader while it recovers from a fault: for k leaders despite f \
             faults, use k + f groups"
                .to_owned(),
        );
    }
    for name in plan.clusters.keys() {
        let used = plan.groups.values().any(|group| group.cluster == *name);
        if !used {
            warnings.push(format!("cluster `{name}` has no groups"));
        }
        let same = shared_fate::brokers(&plan.clusters, name);
        if same != *name {
            warnings.push(format!("clusters `{same}` and `{name}` are the same brokers"));
        }
    }
    warnings.extend(exclusive::warnings(plan));
    warnings.extend(paper::warnings(plan));
    for (name, group) in &plan.groups {
        sizes(plan, name, group, &mut warnings);
        warnings.extend(among::unproven(plan, name));
        pace(plan, name, group, &mut warnings);
    }
    warnings
}

/// The sizing advice of the paper.
fn sizes(plan: &Plan, name: &GroupName, group: &PlannedGroup, warnings: &mut Vec<String>) {
    // One partition, one leader, and the others stand by.
    if group.pace.mode == Mode::Fast {
        return;
    }
    let (members, width) = (group.members.len(), group.width());
    let roles = usize::try_from(plan.roles.len()).unwrap_or(usize::MAX);
    if members > width {
        warnings.push(format!(
            "`{name}` has {members} members on {width} partitions: at most {width} of them lead"
        ));
    }
    if width > roles.saturating_mul(2) {
        let empty = width - roles;
        warnings.push(format!(
            "`{name}` has {width} partitions for {roles} roles: {empty} partitions have no role, \
             and a member that holds only those leads nothing"
        ));
    }
    if roles > width.saturating_mul(4) {
        let each = roles.div_ceil(width);
        warnings.push(format!(
            "`{name}` has {roles} roles on {width} partitions: each partition that moves takes \
             up to {each} roles along"
        ));
    }
}

fn pace(plan: &Plan, name: &GroupName, group: &PlannedGroup, warnings: &mut Vec<String>) {
    let Some(cluster) = plan.clusters.get(&group.cluster) else { return };
    let terms = Terms::of(&group.pace, &cluster.address);
    let (restart, soonest) = (group.restart_after, Span(terms.soonest_restart()));
    if restart < soonest {
        warnings.push(format!(
            "`{name}`: a restart after {restart} makes the group wait for the rest of the dead \
             member's session; a restart after {soonest} or more does not"
        ));
    }
    let seamless = Span(terms.seamless_threshold());
    let threshold = group.pace.threshold;
    let lapses = threshold < seamless && plan.among_of(group).is_none();
    if lapses && group.pace.mode == Mode::NonExclusive {
        let gap = group.bounds.isolation.gap.high;
        warnings.push(format!(
            "`{name}`: with threshold {threshold} an isolated leader can leave a gap of up to \
             {gap}; with {seamless} or more there is none"
        ));
    }
    let session = group.pace.session;
    if matches!(cluster.address, Address::Bootstrap(_)) && session < SESSION_LEAST {
        warnings.push(format!(
            "`{name}`: a broker refuses session {session} unless its \
             `group.min.session.timeout.ms` allows it ({SESSION_LEAST} by default)"
        ));
    }
    let sharing: Vec<&GroupName> = plan
        .groups
        .iter()
        .filter(|(_, other)| {
            let brokers = |cluster| shared_fate::brokers(&plan.clusters, cluster);
            other.topic == group.topic && brokers(&other.cluster) == brokers(&group.cluster)
        })
        .map(|(name, _)| name)
        .collect();
    if sharing.len() > 1 {
        warnings.push(format!(
            "`{name}` is one of {} groups on topic `{}` and publishes only its share: every {}",
            sharing.len(),
            group.topic,
            group.pace.beacon
        ));
    }
}
