//! Why a cluster does not accept our connections, in messages that say what to do.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::error::RDKafkaErrorCode;

use super::error_log::ClientError;

/// Part of the client's error when the broker refuses our certificate. In TLS 1.3 our side of the
/// handshake is complete before the broker checks the certificate.
pub(crate) const ALERT: &str = "SSL alert number";

/// Why a cluster does not accept our connections.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// No broker answers; another attempt may succeed.
    #[error("no answer within {within:?}{said}")]
    Silent {
        /// How long we tried.
        within: Duration,
        /// The client's latest error, in parentheses.
        said: String,
    },
    /// The cluster refuses our user or its credentials.
    #[error(
        "the cluster refuses {user}: the name, the password or `sasl.mechanism` is wrong ({reason})"
    )]
    Login {
        /// The user.
        user: String,
        /// The client's error.
        reason: String,
    },
    /// There is no token to present, or the cluster refuses it.
    #[error(
        "cannot log in with the token in {place}: {reason}; replace it there, it is read again at \
         each attempt"
    )]
    Token {
        /// Where the token is, as in `file /run/token`.
        place: String,
        /// The broker's reason, or ours.
        reason: String,
    },
    /// The broker's certificate cannot be verified.
    #[error("{0}")]
    Certificate(String),
    /// The cluster refuses our certificate.
    #[error("the cluster refuses {shown} ({reason})")]
    ClientCertificate {
        /// Our certificate, or the lack of one.
        shown: String,
        /// The client's error.
        reason: String,
    },
    /// The TLS handshake failed.
    #[error("TLS fails: {0}")]
    Tls(String),
}

impl Trouble {
    /// Whether another attempt may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Silent { .. })
    }

    /// The cluster refuses the certificate in this file, or a client that has none.
    pub(crate) fn not_admitted(certificate: Option<&str>, reason: String) -> Self {
        match certificate.and_then(own) {
            Some(why) => Self::Certificate(why),
            None => Self::ClientCertificate { shown: shown(certificate), reason },
        }
    }

    /// What a client's error means; a refused user is what `turned_away` says of it.
    pub(super) fn of(
        error: Option<ClientError>,
        turned_away: impl FnOnce(String) -> Self,
        config: &ClientConfig,
        within: Duration,
    ) -> Self {
        let Some(ClientError { code, reason }) = error else {
            return Self::Silent { within, said: String::new() };
        };
        match code {
            Some(RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SaslAuthenticationFailed) => {
                turned_away(plain(&reason))
            }
            Some(RDKafkaErrorCode::SSL) => match explanation(config, &reason) {
                Some(why) => Self::Certificate(why),
                None => Self::Tls(plain(&reason)),
            },
            Some(_) | None if reason.contains(ALERT) => {
                Self::not_admitted(config.get("ssl.certificate.location"), plain(&reason))
            }
            Some(_) | None => Self::Silent { within, said: format!(" ({})", plain(&reason)) },
        }
    }
}

fn shown(certificate: Option<&str>) -> String {
    match certificate {
        Some(file) => format!("our certificate, `ssl.certificate.location` {file}"),
        None => "a client without a certificate: set `ssl.certificate.location`".into(),
    }
}

/// librdkafka's message without the name of its thread and the elapsed time.
pub(super) fn plain(reason: &str) -> String {
    let text = reason.split_once(": ").filter(|(place, _)| place.contains("://"));
    let text = text.map_or(reason, |(_, text)| text);
    text.split(" (after ").next().unwrap_or(text).to_owned()
}

#[cfg(feature = "tls")]
fn explanation(config: &ClientConfig, reason: &str) -> Option<String> {
    let (_, rest) = reason.split_once("://")?;
    super::tls::explain(config, rest.split('/').next()?)
}

#[cfg(feature = "tls")]
fn own(file: &str) -> Option<String> {
    super::tls::ours(file)
}

#[cfg(not(feature = "tls"))]
fn own(_: &str) -> Option<String> {
    None
}

#[cfg(not(feature = "tls"))]
fn explanation(_: &ClientConfig, _: &str) -> Option<String> {
    None
}
