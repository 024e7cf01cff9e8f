//! What a run starts and stops, as its progress says it.

use crate::topology::{Address, Plan};

/// Brokers only where they are the run's own: those of others are never started or stopped.
pub(super) fn parts(plan: &Plan) -> &'static str {
    let own = plan.clusters.values().any(|cluster| cluster.address == Address::Embedded);
    if own { "brokers and members" } else { "members" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::plan;

    #[test]
    fn brokers_of_others_are_not_said_to_be_started() {
        let on = |address: &str| {
            let text = format!(
                "version: 1\nname: t\nroles: [r]\nclusters: {{a: {address}}}\ngroups: {{p1: \
                 {{cluster: a}}}}\n"
            );
            parts(&plan(&text, &[]).unwrap())
        };
        assert_eq!(on("{bootstrap: \"h:1\"}"), "members");
        assert_eq!(on("embedded"), "brokers and members");
    }
}
