//! TLS through edges: an edge connects to the brokers with the member's TLS settings, and the
//! member connects to its edge, on the same machine, in plain text.

use crate::edge::Tls;
use crate::kafka::{Access, Cluster, KafkaError};

/// The TLS settings with which an edge connects to the brokers of a cluster; `None` without TLS.
///
/// # Errors
/// A secret that should hold a file's name cannot be read.
pub(crate) fn towards_brokers(cluster: &Cluster) -> Result<Option<Tls>, KafkaError> {
    let access = &cluster.access;
    if !access.is_encrypted() {
        return Ok(None);
    }
    let says = |key: &str, word: &str| access.properties.get(key).is_some_and(|it| it == word);
    Ok(Some(Tls {
        // With `probe`, librdkafka uses the system's certificate authorities.
        ca: cluster.value("ssl.ca.location")?.filter(|place| place != "probe"),
        certificate: cluster.value("ssl.certificate.location")?,
        key: cluster.value("ssl.key.location")?,
        // Only the location: the edge reads the value itself.
        key_password: access.secrets.get("ssl.key.password").cloned(),
        verify: !says("enable.ssl.certificate.verification", "false"),
        verify_host: !says("ssl.endpoint.identification.algorithm", "none"),
    }))
}

/// The settings with which a member connects to its edge: the same user, but in plain text.
pub(crate) fn towards_edges(access: &Access) -> Access {
    let mut plain = access.clone();
    if access.is_encrypted() {
        let is_of_tls = |key: &str| key.starts_with("ssl.") || key.starts_with("enable.ssl.");
        plain.properties.retain(|key, _| !is_of_tls(key));
        plain.secrets.retain(|key, _| !is_of_tls(key));
        if let Some(protocol) = plain.properties.get_mut("security.protocol") {
            let with_sasl = protocol.to_ascii_lowercase().starts_with("sasl");
            *protocol = if with_sasl { "sasl_plaintext" } else { "plaintext" }.to_owned();
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    fn cluster(properties: &[(&str, &str)], secrets: &[(&str, Secret)]) -> Cluster {
        let properties = properties.iter().map(|(key, it)| ((*key).to_owned(), (*it).to_owned()));
        let secrets = secrets.iter().map(|(key, it)| ((*key).to_owned(), it.clone()));
        let access = Access { properties: properties.collect(), secrets: secrets.collect() };
        Cluster { bootstrap: "h:1".to_owned(), access }
    }

    #[test]
    fn an_edge_uses_tls_with_its_members_settings() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("ca");
        std::fs::write(&place, "/etc/ca.pem\n").unwrap();
        let password = Secret::Env("KEY_PASSWORD".to_owned());
        let cluster = cluster(
            &[
                ("security.protocol", "SASL_SSL"),
                ("sasl.username", "m"),
                ("ssl.key.location", "/k.pem"),
                ("ssl.endpoint.identification.algorithm", "none"),
            ],
            &[
                ("ssl.ca.location", Secret::File(place.display().to_string())),
                ("ssl.key.password", password.clone()),
                ("sasl.password", Secret::Env("P".to_owned())),
            ],
        );
        let tls = towards_brokers(&cluster).unwrap().unwrap();
        assert_eq!(tls.ca.as_deref(), Some("/etc/ca.pem"));
        assert_eq!((tls.key.as_deref(), tls.certificate), (Some("/k.pem"), None));
        assert_eq!(tls.key_password, Some(password));
        assert_eq!((tls.verify, tls.verify_host), (true, false));
        let plain = towards_edges(&cluster.access);
        let left: Vec<_> = plain.properties.iter().map(|(key, it)| format!("{key}={it}")).collect();
        assert_eq!(left, ["sasl.username=m", "security.protocol=sasl_plaintext"]);
        assert_eq!(plain.secrets.keys().collect::<Vec<_>>(), ["sasl.password"]);
    }

    #[test]
    fn without_tls_nothing_changes() {
        let cluster = cluster(&[("security.protocol", "sasl_plaintext"), ("x", "y")], &[]);
        assert_eq!(towards_brokers(&cluster).unwrap(), None);
        assert_eq!(towards_edges(&cluster.access), cluster.access);
    }

    #[test]
    fn a_secret_that_cannot_be_read_is_an_error() {
        let nowhere = Secret::Env("TANDEM_NO_SUCH_VARIABLE".to_owned());
        let cluster = cluster(&[("security.protocol", "ssl")], &[("ssl.ca.location", nowhere)]);
        let text = crate::error::chain(&towards_brokers(&cluster).unwrap_err());
        assert!(text.contains("cannot read secret `ssl.ca.location` of h:1"), "{text}");
    }
}
