//! Names what a run starts and stops, for its progress lines.

use crate::topology::{Address, Plan};

/// Names brokers only if the run starts its own.
pub(super) fn parts(plan: &Plan) -> &'static str {
    let own = plan.clusters.values().any(|cluster| cluster.address == Address::Embedded);
    if own { "brokers and members" } else { "members" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::plan;

    #[test]
    fn only_embedded_brokers_are_named() {
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
