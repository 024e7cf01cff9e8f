//! Client properties, and the locations of secret ones.

use std::collections::BTreeMap;

use super::TOKEN;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tandem_host::secret::Secret;

/// Client properties, under librdkafka's names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Access {
    /// Properties that may be shown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
    /// Properties whose values are stored elsewhere.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, Secret>,
}

/// Those of librdkafka's client properties that hold a key, a password or a token.
/// `tests/system/strangers` compares this list with librdkafka's own.
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

/// Whether a client property always holds a secret: one of librdkafka's, or the token that Tandem
/// presents.
#[must_use]
pub fn is_secret(property: &str) -> bool {
    // A later librdkafka may have further ones.
    let words = ["password", "passphrase", "secret"];
    SECRETS.contains(&property)
        || property == TOKEN
        || words.iter().any(|word| property.contains(word))
}

impl Access {
    /// Whether the connections are encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        let protocol = self.properties.get("security.protocol");
        protocol.is_some_and(|it| it.to_ascii_lowercase().ends_with("ssl"))
    }
}
