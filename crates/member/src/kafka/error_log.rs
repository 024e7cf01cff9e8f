//! Passes a client's log and errors on to `tracing` without secrets, and keeps its last error.

use std::error::Error as StdError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rdkafka::ClientContext;
use rdkafka::client::OAuthToken;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError as Error, RDKafkaErrorCode};

use super::access::Redaction;
use super::log;
use super::trouble::{ALERT, Trouble, plain};
use crate::throttle::Throttle;
use tandem_facts::time::Mono;

/// Receives the log and the errors of a client. Clones share their state.
#[derive(Clone, Default)]
pub(super) struct ErrorLog {
    redaction: Redaction,
    quiet: bool,
    last: Arc<Mutex<Option<ClientError>>>,
    count: Arc<AtomicU64>,
    /// A client without brokers reports that many times a second.
    throttle: Arc<Mutex<Throttle>>,
    /// The client has reported that all brokers are down.
    all_down: Arc<AtomicBool>,
}

/// An error of the whole client.
#[derive(Debug, Clone)]
pub(super) struct ClientError {
    pub(super) code: Option<RDKafkaErrorCode>,
    pub(super) reason: String,
}

impl ClientError {
    /// Whether the error concerns authentication, so that waiting does not help.
    pub(super) fn is_lasting(&self) -> bool {
        let refused = self.reason.contains(ALERT);
        refused
            || matches!(
                self.code,
                Some(
                    RDKafkaErrorCode::Authentication
                        | RDKafkaErrorCode::SaslAuthenticationFailed
                        | RDKafkaErrorCode::SSL
                )
            )
    }
}

impl ErrorLog {
    pub(super) fn new(redaction: Redaction) -> Self {
        Self { redaction, ..Self::default() }
    }

    /// A log that keeps errors and logs them at debug level only.
    pub(super) fn quiet(redaction: Redaction) -> Self {
        Self { quiet: true, ..Self::new(redaction) }
    }

    /// The number of errors, and the text of the latest.
    pub(super) fn summary(&self) -> (u64, Option<String>) {
        let last = self.last_error().map(|error| self.said(&error));
        (self.count.load(Ordering::Relaxed), last)
    }

    fn warn(&self, error: &Error, reason: &str) {
        let kind = format!("{:?}", error.rdkafka_error_code());
        let mut throttle = self.throttle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held_back) = throttle.pass(Mono::now(), &kind) {
            log::error(error, reason, held_back);
        }
    }

    /// Whether the client is connected to no broker and tries none, and the latest broker refused
    /// the connection.
    pub(super) fn all_refuse(&self) -> bool {
        let refused = |it: ClientError| it.reason.contains("Connection refused");
        self.all_down.load(Ordering::Relaxed) && self.last_error().is_some_and(refused)
    }

    /// The reason of an error; a refused token is named by its place.
    fn said(&self, error: &ClientError) -> String {
        let reason = plain(&error.reason);
        match self.redaction.bearer() {
            Some(bearer) if error.code == Some(RDKafkaErrorCode::Authentication) => {
                Trouble::Token { place: bearer.place(), reason }.to_string()
            }
            Some(_) | None => reason,
        }
    }

    /// The latest error. A lasting one is not replaced by others.
    pub(super) fn last_error(&self) -> Option<ClientError> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ClientContext for ErrorLog {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        log::line(level, facility, &self.redaction.redact(message));
    }

    // Also without a token, so that librdkafka learns that there is none.
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn StdError>> {
        match self.redaction.bearer() {
            Some(bearer) => bearer.for_library(),
            None => {
                Err("OAUTHBEARER needs `secrets: {sasl.oauthbearer.token: {file: PATH}}`".into())
            }
        }
    }

    fn error(&self, error: Error, reason: &str) {
        let code = error.rdkafka_error_code();
        let reason = match self.redaction.bearer() {
            Some(bearer) if code == Some(RDKafkaErrorCode::Authentication) => {
                bearer.explained(&plain(reason))
            }
            Some(_) | None => reason.to_owned(),
        };
        let reason = self.redaction.redact(&reason);
        if self.quiet {
            tracing::debug!(%error, "The Kafka client reports: {reason}");
        } else {
            self.warn(&error, &reason);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        let error = ClientError { code, reason };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let all_down = error.code == Some(RDKafkaErrorCode::AllBrokersDown);
        self.all_down.fetch_or(all_down, Ordering::Relaxed);
        let known = last.as_ref().is_some_and(ClientError::is_lasting);
        if error.is_lasting() || !(all_down || known) {
            *last = Some(error);
        }
    }
}

impl ConsumerContext for ErrorLog {}
