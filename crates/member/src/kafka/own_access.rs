//! Which client properties Tandem's own group membership honours, and which it refuses. Pure.

use std::str::FromStr;

use super::{Access, TOKEN};

/// The properties of TLS that are honoured; the others under `ssl.` are refused.
const TLS: [&str; 11] = [
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.cipher.suites",
    "ssl.curves.list",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.location",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.sigalgs.list",
];

/// What a member proves who it is with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mechanism {
    /// RFC 4616.
    Plain,
    /// RFC 7677.
    ScramSha256,
    /// The same with SHA-512.
    ScramSha512,
    /// RFC 7628.
    OauthBearer,
}

impl Mechanism {
    const ALL: [Self; 4] = [Self::Plain, Self::ScramSha256, Self::ScramSha512, Self::OauthBearer];

    /// As SASL, and `sasl.mechanism`, name it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
            Self::OauthBearer => "OAUTHBEARER",
        }
    }
}

impl FromStr for Mechanism {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|it| it.as_str() == text).ok_or(())
    }
}

/// How the connections of a member are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Security {
    /// Over TLS.
    pub(crate) tls: bool,
    /// With a user of SASL.
    pub(crate) sasl: Option<Mechanism>,
}

/// A property that `membership: own` does not honour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// The property, as `property: value` where the value is the problem.
    pub what: String,
    /// What is possible instead.
    pub possible: &'static str,
}

impl Access {
    /// The first property that `membership: own` does not honour, if there is one.
    #[must_use]
    pub fn unfit_for_own_membership(&self) -> Option<Unfit> {
        self.security().err()
    }

    /// How Tandem's own connections are made.
    ///
    /// # Errors
    /// A property asks for what they do not do.
    pub(crate) fn security(&self) -> Result<Security, Unfit> {
        let unfit = |what: &str, possible| Err(Unfit { what: what.to_owned(), possible });
        let is_set = |key: &str| self.has(key);
        if is_set("plugin.library.paths") {
            return unfit("plugin.library.paths", "no plugins");
        }
        // What decides how a connection is made has to be known before any secret is read.
        for key in ["security.protocol", "sasl.mechanism", "sasl.mechanisms"] {
            if self.secrets.contains_key(key) {
                return unfit(key, "its value under `properties`, not under `secrets`");
            }
        }
        let protocol = self.properties.get("security.protocol").map_or("plaintext", String::as_str);
        let (tls, sasl) = match protocol.to_ascii_lowercase().as_str() {
            "plaintext" => (false, false),
            "ssl" => (true, false),
            "sasl_plaintext" => (false, true),
            "sasl_ssl" => (true, true),
            _ => {
                let what = format!("security.protocol: {protocol}");
                return unfit(&what, "plaintext, ssl, sasl_plaintext or sasl_ssl");
            }
        };
        if let Some(key) = self.keys().find(|key| tls && is_of_tls(key) && !TLS.contains(key)) {
            return unfit(key, "`ssl.ca.*`, `ssl.certificate.*` and `ssl.key.*`, in PEM");
        }
        let sasl = if sasl { Some(self.mechanism()?) } else { None };
        Ok(Security { tls, sasl })
    }

    fn mechanism(&self) -> Result<Mechanism, Unfit> {
        let keys = ["sasl.mechanisms", "sasl.mechanism"];
        let found = keys.into_iter().find_map(|key| Some((key, self.properties.get(key)?)));
        // librdkafka's default.
        let (key, name) = found.map_or(("sasl.mechanism", "GSSAPI"), |(key, it)| (key, it));
        let unfit = |possible| Unfit { what: format!("{key}: {name}"), possible };
        let mechanism = name.parse().map_err(|()| {
            unfit("PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, or OAUTHBEARER with a token of a file")
        })?;
        if mechanism == Mechanism::OauthBearer && !self.secrets.contains_key(TOKEN) {
            return Err(unfit("it with `secrets: {sasl.oauthbearer.token: {file: PATH}}`"));
        }
        Ok(mechanism)
    }

    fn has(&self, key: &str) -> bool {
        self.keys().any(|known| known == key)
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        self.properties.keys().chain(self.secrets.keys()).map(String::as_str)
    }
}

fn is_of_tls(key: &str) -> bool {
    key.starts_with("ssl.") || key.starts_with("ssl_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tandem_host::secret::Secret;

    fn access(properties: &[(&str, &str)], secrets: &[&str]) -> Access {
        let properties = properties.iter().map(|(key, it)| ((*key).to_owned(), (*it).to_owned()));
        let secret = |key: &&str| ((*key).to_owned(), Secret::Env("X".to_owned()));
        Access { properties: properties.collect(), secrets: secrets.iter().map(secret).collect() }
    }

    #[test]
    fn each_protocol_and_mechanism_is_read_as_librdkafka_reads_it() {
        let scram = ("sasl.mechanism", "SCRAM-SHA-512");
        for (properties, tls, sasl) in [
            (&[][..], false, None),
            (&[("security.protocol", "PlainText")], false, None),
            (&[("security.protocol", "SSL")], true, None),
            (&[("security.protocol", "plaintext"), scram], false, None),
            (&[("security.protocol", "SASL_SSL"), scram], true, Some(Mechanism::ScramSha512)),
            (
                &[("security.protocol", "sasl_plaintext"), ("sasl.mechanisms", "PLAIN")],
                false,
                Some(Mechanism::Plain),
            ),
            (
                &[("security.protocol", "sasl_ssl"), ("sasl.mechanisms", "SCRAM-SHA-256"), scram],
                true,
                Some(Mechanism::ScramSha256),
            ),
        ] {
            let read = access(properties, &["sasl.password"]).security();
            assert_eq!(read, Ok(Security { tls, sasl }), "{properties:?}");
        }
    }

    #[test]
    fn a_token_must_have_a_place() {
        let properties = [("security.protocol", "sasl_ssl"), ("sasl.mechanism", "OAUTHBEARER")];
        let sasl = Some(Mechanism::OauthBearer);
        let read = access(&properties, &[TOKEN]).security();
        assert_eq!(read, Ok(Security { tls: true, sasl }));
    }

    #[test]
    fn what_is_not_honoured_is_named_with_what_is_possible() {
        let sasl = ("security.protocol", "SASL_SSL");
        let ssl = ("security.protocol", "ssl");
        for (properties, secrets, what, possible) in [
            (&[sasl][..], &[][..], "sasl.mechanism: GSSAPI", "SCRAM-SHA-256"),
            (&[sasl, ("sasl.mechanisms", "OAUTHBEARER")], &[], "OAUTHBEARER", "token: {file"),
            (&[sasl], &["sasl.mechanism"], "sasl.mechanism", "under `properties`"),
            (&[("security.protocol", "tls")], &[], "security.protocol: tls", "sasl_ssl"),
            (&[ssl, ("ssl.keystore.location", "/k")], &[], "ssl.keystore.location", "PEM"),
            (&[ssl], &["ssl.crl.location"], "ssl.crl.location", "PEM"),
            (&[ssl, ("ssl.engine.id", "dynamic")], &[], "ssl.engine.id", "PEM"),
            (&[ssl, ("ssl_key", "x")], &[], "ssl_key", "PEM"),
            (&[("plugin.library.paths", "x")], &[], "plugin.library.paths", "no plugins"),
        ] {
            let unfit = access(properties, secrets).unfit_for_own_membership().unwrap();
            assert!(unfit.what.contains(what), "{unfit:?}");
            assert!(unfit.possible.contains(possible), "{unfit:?}");
        }
        // Without TLS nothing reads it.
        assert_eq!(
            access(&[("ssl.keystore.location", "/k")], &[]).unfit_for_own_membership(),
            None
        );
    }
}
