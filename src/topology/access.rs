//! How clients connect to a cluster, as a topology describes it.

use std::collections::BTreeMap;

use super::{Brokers, Cluster, Elsewhere};
use crate::kafka::{Access, Unfit};
use crate::yaml::{Cursor, Problem};

/// The secret of a client that presents a token.
const TOKEN: &str = "sasl.oauthbearer.token";

/// The TLS properties that edges support.
const EDGES_KNOW: [&str; 6] = [
    "enable.ssl.certificate.verification",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.location",
    "ssl.key.password",
];

/// The access that the file describes. A secret without a location is left out, because the check
/// has reported it already.
pub(super) fn access(
    properties: &BTreeMap<String, String>,
    secrets: &BTreeMap<String, Elsewhere>,
) -> Access {
    let known = |(name, place): (&String, &Elsewhere)| Some((name.clone(), place.0.clone()?));
    Access { properties: properties.clone(), secrets: secrets.iter().filter_map(known).collect() }
}

/// The client property of a cluster that membership of our own does not honour, if there is one.
pub(super) fn unfit_for_own_membership(cluster: &Cluster) -> Option<Unfit> {
    let Cluster::Brokers(brokers) = cluster else { return None };
    let members = access(&brokers.properties, &brokers.secrets);
    // A token without a place is a problem of the cluster.
    members.unfit_for_own_membership().filter(|_| !lacks_token(&members, &[&brokers.secrets]))
}

/// The problem of a cluster whose clients should present a token that is nowhere.
pub(super) fn token_problem(brokers: &Brokers, place: Cursor<'_>) -> Option<Problem> {
    let other = &brokers.controller;
    let members = access(&brokers.properties, &brokers.secrets);
    let controller = but(&members, access(&other.properties, &other.secrets));
    let (client, place, given) = if lacks_token(&members, &[&brokers.secrets]) {
        ("members", place, &brokers.properties)
    } else if lacks_token(&controller, &[&brokers.secrets, &other.secrets]) {
        ("the controller", place.key("controller"), &other.properties)
    } else {
        return None;
    };
    let keys = ["sasl.mechanisms", "sasl.mechanism", "security.protocol"];
    let key = keys.into_iter().find(|key| given.contains_key(*key))?;
    let message = format!("OAUTHBEARER needs a token for {client}");
    let hint = format!("add `secrets: {{{TOKEN}: {{file: PATH}}}}`, and replace the file in time");
    Some(Problem::at(place.key("properties").key(key).origin(), message).hint(hint))
}

fn lacks_token(access: &Access, secrets: &[&BTreeMap<String, Elsewhere>]) -> bool {
    access.is_bearer() && !secrets.iter().any(|them| them.contains_key(TOKEN))
}

/// The first TLS property of the members that edges do not support, if any.
pub(super) fn beyond_edges(access: &Access) -> Option<&str> {
    let of_tls = |key: &&String| key.starts_with("ssl.") || key.starts_with("enable.ssl.");
    let keys = access.properties.keys().chain(access.secrets.keys());
    let mut keys = keys.filter(of_tls).map(String::as_str);
    keys.find(|key| access.is_encrypted() && !EDGES_KNOW.contains(key))
}

/// `access`, overridden by `other`.
pub(super) fn but(access: &Access, other: Access) -> Access {
    let mut both = access.clone();
    both.properties.retain(|key, _| !other.secrets.contains_key(key));
    both.secrets.retain(|key, _| !other.properties.contains_key(key));
    both.properties.extend(other.properties);
    both.secrets.extend(other.secrets);
    both
}

#[cfg(test)]
mod tests {
    use crate::secret::Secret;
    use crate::topology::plan;
    use crate::yaml::FileError;

    const TEXT: &str = "\
version: 1
name: t
roles: [r]
clusters:
  a:
    bootstrap: \"h:1\"
    properties: {sasl.username: m, x: y}
    secrets: {sasl.password: {env: M}}
    controller: {properties: {x: z}, secrets: {sasl.username: {env: U}, sasl.password: {file: f}}}
groups: {p: {cluster: a}}
";

    #[test]
    fn the_controller_differs_where_it_says_so() {
        let plan = plan(TEXT, &[]).unwrap();
        let cluster = plan.clusters.get("a").unwrap();
        assert_eq!(cluster.members.secrets["sasl.password"], Secret::Env("M".to_owned()));
        let controller = cluster.controller();
        assert_eq!(controller.properties, [("x".to_owned(), "z".to_owned())].into());
        assert_eq!(controller.secrets["sasl.username"], Secret::Env("U".to_owned()));
        assert_eq!(controller.secrets["sasl.password"], Secret::File("f".to_owned()));
    }

    #[test]
    fn a_secret_among_the_properties_is_refused_and_not_shown() {
        for key in ["sasl.password", "ssl.key.password", "ssl.key.pem"] {
            for text in [
                TEXT.replace("x: y", &format!("{key}: hunter2")),
                TEXT.replace("x: z", &format!("{key}: hunter2")),
            ] {
                let problems = plan(&text, &[]).unwrap_err();
                let error = FileError::new("t.yaml", &text, problems).to_string();
                assert!(error.contains("would be written into every journal"), "{error}");
                assert!(error.contains(key) && !error.contains("hunter2"), "{error}");
            }
        }
    }
}
