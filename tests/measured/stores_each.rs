//! Groups over etcd, over ZooKeeper and over NATS in one run, beside one by NELI, with real
//! processes and real stores: the leader of a role is hit in each, and gaps are within the bounds
//! that were computed by hand.

use support::elections::{Cost, are_right, cost, experiment, in_turn, on, topology};
use support::measured::{measured_alone, shared_turn};
use support::three_stores::ThreeStores;

/// How the steps of an experiment hit the groups.
type Method = fn(&str, &str, &[&str]) -> String;

/// Does this to the leader of a role in each group. Two never lead, and fences rise where there are
/// fences.
fn each(method: Method, name: &str, step: &str, costs: [Cost; 3]) {
    // Their start would disturb what is alone.
    let stores = {
        let _turn = shared_turn();
        ThreeStores::up()
    };
    let topology = topology(&stores.clusters(), &ThreeStores::groups());
    let experiment = method(name, step, &ThreeStores::GROUPS);
    let fenced = |(group, cost): (&'static str, Cost)| (group, cost.fenced(group != "nats"));
    let costs: Vec<_> = ThreeStores::GROUPS.into_iter().zip(costs).map(fenced).collect();
    // Alone, for the rule on disturbed trials does not watch the stores.
    drop(measured_alone(|| on(&topology, &experiment), |run| are_right(run, &costs)));
}

/// Over NATS S = 1000, x = 20, B = 100 + 10 + 10, F = 2 * 10 + 10.
#[test]
fn a_killed_leader_is_replaced_when_its_lease_is_over() {
    let costs = [1_700..2_760, 1_700..2_421, 890..1_171].map(|gaps| cost(gaps, 0..=0));
    each(experiment, "stores-kill", "fault: kill", costs);
}

/// A member that leaves revokes its lease, or closes its session: one after the other, for both
/// stores write to one disk.
#[test]
fn a_leader_that_leaves_is_replaced_at_once() {
    let costs = [0..220, 0..200, 0..151].map(|gaps| cost(gaps, 0..=0));
    each(in_turn, "stores-leave", "fault: leave", costs);
}

/// It wakes after its lease, and claims nothing any more.
#[test]
fn a_paused_leader_leads_no_more_when_it_wakes() {
    let costs = [1_700..2_760, 1_700..2_421, 890..1_171].map(|gaps| cost(gaps, 0..=0));
    each(experiment, "stores-pause", "fault: pause\n    for: 4s", costs);
}
