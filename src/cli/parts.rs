//! Names what a run starts and stops, for its progress lines.

use crate::topology::{Address, Launch, Plan};

/// Names brokers and members only if the run starts its own.
pub(super) fn parts(plan: &Plan) -> &'static str {
    let brokers = plan.clusters.values().any(|cluster| cluster.address == Address::Embedded);
    let members = plan.groups.values().any(|group| group.launch == Launch::Tandem);
    match (brokers, members) {
        (true, true) => "brokers and members",
        (true, false) => "brokers",
        (false, true) => "members",
        (false, false) => "to watch the members",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::plan;

    #[test]
    fn only_embedded_brokers_and_members_of_its_own_are_named() {
        let on = |address: &str, launch: &str| {
            let text = format!(
                "version: 1\nname: t\nroles: [r]\nclusters: {{a: {address}}}\ngroups: {{p1: \
                 {{cluster: a, launch: {launch}}}}}\n"
            );
            parts(&plan(&text, &[]).unwrap())
        };
        let outside = "{bootstrap: \"h:1\"}";
        assert_eq!(on(outside, "tandem"), "members");
        assert_eq!(on(outside, "external"), "to watch the members");
        assert_eq!(on("embedded", "tandem"), "brokers and members");
        assert_eq!(on("embedded", "external"), "brokers");
    }
}
