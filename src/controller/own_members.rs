//! Finds members of this user's own `tandem up` in the consumer groups of a plan.

use std::collections::BTreeMap;

use crate::guard::{Run, kept_up, runs};
use crate::ids::{ClusterName, Life};
use crate::topology::{ClusterFacts, Plan};

/// Removes these members from the strangers of each group. Returns one sentence for each such
/// group, which names the run.
pub fn own_members(plan: &Plan, facts: &mut BTreeMap<ClusterName, ClusterFacts>) -> Vec<String> {
    kept_up(&runs(), &plan.topology).first().map_or_else(Vec::new, |run| named(plan, facts, run))
}

fn named(plan: &Plan, facts: &mut BTreeMap<ClusterName, ClusterFacts>, run: &Run) -> Vec<String> {
    let mut sentences = Vec::new();
    for (name, group) in &plan.groups {
        let seen = facts.get_mut(&group.cluster).map(|facts| &mut facts.strangers);
        let Some(names) = seen.and_then(|all| all.get_mut(&group.consumer_group)) else { continue };
        let before = names.len();
        names.retain(|name| {
            let life = Life::try_from(name.clone()).ok();
            !life.is_some_and(|life| group.members.contains(&life.member))
        });
        if names.len() < before {
            let (consumer_group, ways) = (&group.consumer_group, run.ways());
            sentences.push(format!(
                "consumer group {consumer_group} of group {name} has the members of your own \
                 `tandem up`, and two runs cannot share it; {ways}"
            ));
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::plan;

    const TEXT: &str = "version: 1\nname: duo\nroles: [r]\nclusters: {a: {bootstrap: 'h:1'}}\n\
                        groups: {p1: {cluster: a, members: 2}}\n";

    #[test]
    fn members_of_an_own_run_are_named_and_strangers_stay() {
        let plan = plan(TEXT, &[]).unwrap();
        let group = &plan.groups.values().next().unwrap().consumer_group;
        let names = ["p1-1.1", "p1-2.7", "p9-1.1", "x"].map(str::to_owned).to_vec();
        let seen =
            ClusterFacts { strangers: [(group.clone(), names)].into(), ..ClusterFacts::default() };
        let mut facts = BTreeMap::from([("a".parse().unwrap(), seen)]);
        let run = Run::own("up".to_owned(), plan.topology.clone(), "/nowhere".into());
        let sentences = named(&plan, &mut facts, &run);
        let pid = std::process::id();
        assert_eq!(sentences.len(), 1);
        assert!(sentences[0].contains("has the members of your own `tandem up`"), "{sentences:?}");
        assert!(sentences[0].contains(&format!("`tandem status --pid {pid}`")), "{sentences:?}");
        let left: Vec<_> = facts.values().flat_map(|facts| &facts.strangers[group]).collect();
        assert_eq!(left, ["p9-1.1", "x"]);
    }
}
