//! Why a cluster lets nobody in, or not us, in words that say what to do.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::error::RDKafkaErrorCode;

use super::voice::Complaint;

/// What stands in a complaint when the other side broke off because of our certificate: a sound
/// handshake of TLS 1.3 is over, for us, before the other side looks at it.
pub(super) const ALERT: &str = "SSL alert number";

/// Why a cluster cannot be entered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// Nobody answers; it may be tried again.
    #[error("nobody answers within {within:?}{said}")]
    Silent {
        /// For how long it was tried.
        within: Duration,
        /// What the client said last, in parentheses.
        said: String,
    },
    /// Who we are or how we prove it.
    #[error("it refuses {user}: the name, the password or `sasl.mechanism` is wrong ({reason})")]
    Login {
        /// As whom we came.
        user: String,
        /// What the client says.
        reason: String,
    },
    /// It does not prove who it is.
    #[error("{0}")]
    Certificate(String),
    /// Ours, which it refuses.
    #[error("it refuses {shown} ({reason})")]
    ClientCertificate {
        /// What we show.
        shown: String,
        /// What the client says.
        reason: String,
    },
    /// TLS did not come about.
    #[error("TLS fails: {0}")]
    Tls(String),
}

impl Trouble {
    /// Whether it may be gone later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Silent { .. })
    }

    /// What a client's complaint means for `user`.
    pub(super) fn of(
        complaint: Option<Complaint>,
        user: String,
        config: &ClientConfig,
        within: Duration,
    ) -> Self {
        let Some(Complaint { code, reason }) = complaint else {
            return Self::Silent { within, said: String::new() };
        };
        match code {
            Some(RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SaslAuthenticationFailed) => {
                Self::Login { user, reason: plain(&reason) }
            }
            Some(RDKafkaErrorCode::SSL) => match explanation(config, &reason) {
                Some(why) => Self::Certificate(why),
                None => Self::Tls(plain(&reason)),
            },
            Some(_) | None if reason.contains(ALERT) => match own(config) {
                Some(why) => Self::Certificate(why),
                None => Self::ClientCertificate { shown: shown(config), reason: plain(&reason) },
            },
            Some(_) | None => Self::Silent { within, said: format!(" ({})", plain(&reason)) },
        }
    }
}

fn shown(config: &ClientConfig) -> String {
    match config.get("ssl.certificate.location") {
        Some(file) => format!("our certificate, `ssl.certificate.location` {file}"),
        None => "us without a certificate, and none is named as `ssl.certificate.location`".into(),
    }
}

/// librdkafka's sentence without the name of its thread and the time it took.
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
fn own(config: &ClientConfig) -> Option<String> {
    super::tls::ours(config)
}

#[cfg(not(feature = "tls"))]
fn own(_: &ClientConfig) -> Option<String> {
    None
}

#[cfg(not(feature = "tls"))]
fn explanation(_: &ClientConfig, _: &str) -> Option<String> {
    None
}
