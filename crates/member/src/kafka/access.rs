//! How clients connect to a cluster: their properties, and secrets, which are read at the last
//! moment and redacted from all output.

use std::collections::BTreeMap;

use rdkafka::ClientConfig;
use rdkafka::error::KafkaError as Error;

use super::{Bearer, Cluster, KafkaError, TOKEN, Trouble};
use tandem_host::secret::fetch;

/// Redacts secrets from what a client reports.
#[derive(Clone, Default)]
pub(crate) struct Redaction {
    values: Vec<String>,
    /// The token changes, so what was read of it is hidden as well.
    bearer: Option<Bearer>,
}

impl Redaction {
    fn of(mut values: Vec<String>, bearer: Option<Bearer>) -> Self {
        // A secret may contain another, so the longer one is replaced first.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self { values, bearer }
    }

    /// The token of the client, if it presents one.
    pub(crate) const fn bearer(&self) -> Option<&Bearer> {
        self.bearer.as_ref()
    }

    /// `text` without secrets.
    pub(crate) fn redact(&self, text: &str) -> String {
        let text = self.bearer.as_ref().map_or_else(|| text.to_owned(), |it| it.hide(text));
        self.values.iter().fold(text, |text, secret| text.replace(secret, "***"))
    }
}

impl Cluster {
    /// Sets the client properties of the topology, secrets included.
    pub(super) fn configure(&self, config: &mut ClientConfig) -> Result<Redaction, KafkaError> {
        self.configure_for(config, cfg!(feature = "tls"))
    }

    /// The same, for a build with or without TLS.
    fn configure_for(
        &self,
        config: &mut ClientConfig,
        has_tls: bool,
    ) -> Result<Redaction, KafkaError> {
        for (key, value) in &self.access.properties {
            config.set(key, value);
        }
        self.fits_build(has_tls)?;
        let mut values = Vec::new();
        for key in self.access.secrets.keys() {
            let value = self.value(key)?.unwrap_or_default();
            // librdkafka asks for the token when it needs it.
            if key != TOKEN {
                config.set(key, &value);
            }
            values.push(value);
        }
        Ok(Redaction::of(values, Bearer::of(&self.access)))
    }

    /// Whether this build supports what the properties require.
    ///
    /// # Errors
    /// It lacks TLS, and a property requires it.
    pub(crate) fn fits_build(&self, has_tls: bool) -> Result<(), KafkaError> {
        match wants_tls(&self.access.properties) {
            Some(what) if !has_tls => {
                Err(KafkaError::Lean { cluster: self.bootstrap.clone(), what })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Redacts the secrets of this cluster.
    ///
    /// # Errors
    /// A secret cannot be read.
    pub(crate) fn redaction(&self) -> Result<Redaction, KafkaError> {
        let value = |key| self.value(key).map(Option::unwrap_or_default);
        let values: Result<_, KafkaError> =
            self.access.secrets.keys().map(|key| value(key)).collect();
        Ok(Redaction::of(values?, Bearer::of(&self.access)))
    }

    /// The error for a cluster that does not let us in: its reason, or the client's.
    pub(crate) fn turned_away(&self, reason: String) -> Trouble {
        match self.access.place_of_token() {
            Some(place) => Trouble::Token { place, reason },
            None => Trouble::Login { user: self.user(), reason },
        }
    }

    /// The value of a property, given directly or as a secret.
    ///
    /// # Errors
    /// The secret cannot be read.
    pub fn value(&self, key: &str) -> Result<Option<String>, KafkaError> {
        let Some(secret) = self.access.secrets.get(key) else {
            return Ok(self.access.properties.get(key).cloned());
        };
        let fetched = fetch(secret).map_err(|source| KafkaError::Secret {
            cluster: self.bootstrap.clone(),
            key: key.to_owned(),
            source,
        });
        fetched.map(Some)
    }

    /// The error for a refused configuration. The client's message repeats values, so secrets are
    /// redacted.
    pub(super) fn refused(&self, source: Error) -> KafkaError {
        let source = if let Error::ClientConfig(result, _, key, _) = &source
            && self.access.secrets.contains_key(key)
        {
            let text = "the value of this secret is not legal:".to_owned();
            Error::ClientConfig(*result, text, key.clone(), String::new())
        } else {
            source
        };
        KafkaError::Configuration { cluster: self.bootstrap.clone(), source: Box::new(source) }
    }

    /// The error for a request that the cluster did not answer, or with an error.
    pub(super) fn failed(&self, act: impl Into<String>) -> impl Fn(Error) -> KafkaError {
        let (cluster, act) = (self.bootstrap.clone(), act.into());
        move |source| KafkaError::Request {
            cluster: cluster.clone(),
            act: act.clone(),
            source: Box::new(source),
        }
    }

    /// Our user on the cluster, for messages.
    pub(crate) fn user(&self) -> String {
        let properties = &self.access.properties;
        if let Some(name) = properties.get("sasl.username") {
            return format!("user {name}");
        }
        if self.access.secrets.contains_key("sasl.username") {
            return "the user in `secrets: sasl.username`".to_owned();
        }
        if let Some(place) = self.access.place_of_token() {
            return format!("the owner of the token in {place}");
        }
        match properties.get("ssl.certificate.location") {
            Some(file) => format!("the owner of certificate {file}"),
            None => "an anonymous user".to_owned(),
        }
    }
}

/// The first property that requires a build with TLS, if there is one.
fn wants_tls(config: &BTreeMap<String, String>) -> Option<String> {
    let says = |key: &str, word: &str| {
        let value = config.get(key)?;
        value.to_ascii_lowercase().contains(word).then(|| format!("{key}: {value}"))
    };
    // librdkafka has its OAUTHBEARER only with OpenSSL.
    let mechanisms = ["scram", "oauthbearer"].into_iter();
    says("security.protocol", "ssl").or_else(|| {
        let mut said = mechanisms
            .flat_map(|word| [says("sasl.mechanism", word), says("sasl.mechanisms", word)]);
        said.find_map(|it| it)
    })
}

#[cfg(test)]
mod tests {
    use super::super::Access;
    use super::*;
    use tandem_host::secret::Secret;

    fn cluster(secret: Secret) -> Cluster {
        let secrets = [("sasl.password".to_owned(), secret)].into();
        let access = Access { secrets, ..Access::default() };
        Cluster { bootstrap: "h:1".to_owned(), access }
    }

    fn describe(secret: Secret) -> String {
        let entered = cluster(secret).configure(&mut ClientConfig::new());
        tandem_host::error::chain(&entered.err().unwrap())
    }

    #[test]
    fn a_secret_is_read_without_its_last_line_break_and_hidden_from_then_on() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        std::fs::write(&file, "hunter 2\n").unwrap();
        let cluster = cluster(Secret::File(file.display().to_string()));
        let mut config = ClientConfig::new();
        let redaction = cluster.configure(&mut config).unwrap();
        assert_eq!(config.get("sasl.password"), Some("hunter 2"));
        assert_eq!(redaction.redact("password <hunter 2>, hunter 3"), "password <***>, hunter 3");
    }

    #[test]
    fn a_secret_that_is_not_there_is_named_with_its_key_and_its_cluster() {
        let text = describe(Secret::Env("TANDEM_NO_SUCH_VARIABLE".to_owned()));
        assert_eq!(
            text,
            "cannot read secret `sasl.password` of h:1: the environment has no variable \
             TANDEM_NO_SUCH_VARIABLE"
        );
        let text = describe(Secret::File("/nowhere/at/all".to_owned()));
        assert!(text.contains("cannot read the file /nowhere/at/all: No such file"), "{text}");
        assert!(describe(Secret::File("/dev/null".to_owned())).contains("/dev/null is empty"));
    }

    #[test]
    fn a_configuration_that_is_refused_does_not_show_a_secret() {
        let cluster = cluster(Secret::Env("PATH".to_owned()));
        let result = rdkafka::types::RDKafkaConfRes::RD_KAFKA_CONF_INVALID;
        let (key, value) = ("sasl.password".to_owned(), "hunter2".to_owned());
        let error = Error::ClientConfig(result, format!("bad {value}"), key, value);
        let text = tandem_host::error::chain(&cluster.refused(error));
        assert!(text.contains("sasl.password") && !text.contains("hunter2"), "{text}");
    }

    #[test]
    fn a_lean_build_says_what_it_lacks_and_how_to_get_it() {
        let set = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        for said in [
            ("security.protocol", "SASL_SSL"),
            ("security.protocol", "ssl"),
            ("sasl.mechanism", "SCRAM-SHA-512"),
            ("sasl.mechanisms", "OAUTHBEARER"),
        ] {
            let access = Access { properties: [set(said)].into(), ..Access::default() };
            let cluster = Cluster { bootstrap: "h:1".to_owned(), access };
            let configure =
                |has_tls| cluster.configure_for(&mut ClientConfig::new(), has_tls).err();
            let error = configure(false).unwrap().to_string();
            assert!(error.contains("lacks the feature `tls`: build it with"), "{error}");
            assert!(configure(true).is_none(), "another build does not");
        }
    }
}
