//! How clients speak to a cluster: properties, and secrets of which only the place is known here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Elsewhere;
use crate::secret::Secret;

/// Client properties, as librdkafka names them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Access {
    /// Those that may be shown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
    /// Those whose values stand elsewhere.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, Secret>,
}

/// What edges know of TLS.
const EDGES_KNOW: [&str; 6] = [
    "enable.ssl.certificate.verification",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.location",
    "ssl.key.password",
];

/// The client properties that hold a key, a password or a token themselves, of all that
/// librdkafka knows; `tests/strangers` holds this against librdkafka's own list.
const SECRETS: [&str; 10] = [
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.private.key.pem",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.config",
    "sasl.password",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.password",
    "ssl_key",
];

/// Whether the value of a client property is a secret by its nature.
#[must_use]
pub fn is_secret(property: &str) -> bool {
    // A later librdkafka may know more of them.
    let words = ["password", "passphrase", "secret"];
    SECRETS.contains(&property) || words.iter().any(|word| property.contains(word))
}

impl Access {
    /// What is written; a secret of which nobody knows where it stands was complained of already.
    pub(super) fn of(
        properties: &BTreeMap<String, String>,
        secrets: &BTreeMap<String, Elsewhere>,
    ) -> Self {
        let known = |(name, place): (&String, &Elsewhere)| Some((name.clone(), place.0.clone()?));
        Self { properties: properties.clone(), secrets: secrets.iter().filter_map(known).collect() }
    }

    /// Whether what is said is encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        let protocol = self.properties.get("security.protocol");
        protocol.is_some_and(|it| it.to_ascii_lowercase().ends_with("ssl"))
    }

    /// What members say of TLS that an edge in their place could not do, if there is such.
    #[must_use]
    pub fn beyond_edges(&self) -> Option<&str> {
        let of_tls = |key: &&String| key.starts_with("ssl.") || key.starts_with("enable.ssl.");
        let keys = self.properties.keys().chain(self.secrets.keys());
        let mut keys = keys.filter(of_tls).map(String::as_str);
        keys.find(|key| self.is_encrypted() && !EDGES_KNOW.contains(key))
    }

    /// The same, but for what `other` says.
    pub(super) fn but(&self, other: Self) -> Self {
        let mut both = self.clone();
        both.properties.retain(|key, _| !other.secrets.contains_key(key));
        both.secrets.retain(|key, _| !other.properties.contains_key(key));
        both.properties.extend(other.properties);
        both.secrets.extend(other.secrets);
        both
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
