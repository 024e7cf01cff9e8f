//! What a group loses when a machine dies or is paused, with everything that bears its label: the
//! group's members, its embedded broker, or both.

use std::time::Duration;

use super::{Cost, START_UP, UNKNOWN, away, cost};
use crate::chaos::faults::{AnyFault, Broker};
use crate::chaos::{How, Step, Target};
use crate::ids::{GroupName, HostName};
use crate::time::Span;
use crate::topology::{Plan, PlannedGroup, Terms};

/// The worst cost over all machines that the target can be.
pub(super) fn machine(
    step: &Step,
    hosts: impl Iterator<Item = HostName>,
    plan: &Plan,
    name: &GroupName,
) -> Cost {
    hosts.map(|host| one(step, &host, plan, name)).fold(Cost::default(), Cost::worst)
}

fn one(step: &Step, host: &HostName, plan: &Plan, name: &GroupName) -> Cost {
    let Some(group) = plan.groups.get(name) else { return Cost::default() };
    let members = group.host.as_ref() == Some(host);
    let broker = plan.clusters_on(host).contains(&group.cluster);
    let of_brokers = step.fault.of_brokers().filter(|_| broker);
    match (members, of_brokers) {
        (false, None) => Cost::default(),
        (true, None) => cost(step, &Target::Host(Some(host.clone())), plan, name),
        (false, Some((how, away))) => {
            let target = Target::Brokers { cluster: Some(group.cluster.clone()) };
            let fault = AnyFault::Broker(Broker { how, away });
            cost(&Step { fault, ..step.clone() }, &target, plan, name)
        }
        (true, Some((How::Kill | How::Stop, broker_away))) => {
            death(step, broker_away, plan, (name, group))
        }
        // Whether the members wake first, or the broker that has expired them, is not known.
        (true, Some((How::Pause, _))) => UNKNOWN,
    }
}

/// Members and broker are all gone. The new broker knows no sessions, so it waits for none. Members
/// that start before the broker retry each second. They join one after the other, and each join
/// briefly revokes the partitions of all: at worst just before the first message of any of them.
fn death(step: &Step, broker_away: Span, plan: &Plan, of: (&GroupName, &PlannedGroup)) -> Cost {
    let (name, group) = of;
    let Some(cluster) = plan.clusters.get(&group.cluster) else { return Cost::default() };
    let terms = Terms::on(&group.pace, group.replication, cluster);
    let members = u32::try_from(group.members.len()).unwrap_or(u32::MAX);
    let found = terms.start_up + terms.search;
    let back = (away(step, plan, name) + START_UP).max(broker_away.get() + found);
    Cost {
        gap: back.saturating_add(terms.succession().saturating_mul(members)),
        // The first member gets every partition; the last move happens when the last member has
        // joined.
        overlap: terms.threshold + terms.succession() + START_UP.max(found),
        back: Duration::ZERO,
    }
}
