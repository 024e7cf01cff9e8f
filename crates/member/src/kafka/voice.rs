//! What a client says of itself: told through `tracing` without secrets, its last complaint kept.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError as Error, RDKafkaErrorCode};

use super::access::Veil;
use super::log;
use super::trouble::{ALERT, plain};

/// The ears of a client; clones hear the same.
#[derive(Clone, Default)]
pub(super) struct Voice {
    veil: Veil,
    quiet: bool,
    last: Arc<Mutex<Option<Complaint>>>,
    count: Arc<AtomicU64>,
    /// It has said that all brokers are down.
    all_down: Arc<AtomicBool>,
}

/// An error of a client as a whole.
#[derive(Debug, Clone)]
pub(super) struct Complaint {
    pub(super) code: Option<RDKafkaErrorCode>,
    pub(super) reason: String,
}

impl Complaint {
    /// Whether it is about who we are, so that waiting mends nothing.
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

impl Voice {
    pub(super) fn new(veil: Veil) -> Self {
        Self { veil, ..Self::default() }
    }

    /// One that only remembers.
    pub(super) fn quiet(veil: Veil) -> Self {
        Self { quiet: true, ..Self::new(veil) }
    }

    /// How often it has complained, and of what last, in plain words.
    pub(super) fn complaints(&self) -> (u64, Option<String>) {
        let last = self.complaint().map(|complaint| plain(&complaint.reason));
        (self.count.load(Ordering::Relaxed), last)
    }

    /// Whether no broker is connected or tried any more, the last because it refused.
    pub(super) fn all_refuse(&self) -> bool {
        let refused = |it: Complaint| it.reason.contains("Connection refused");
        self.all_down.load(Ordering::Relaxed) && self.complaint().is_some_and(refused)
    }

    /// What it complained of last; lasting complaints are not forgotten over others.
    pub(super) fn complaint(&self) -> Option<Complaint> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ClientContext for Voice {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        log::line(level, facility, &self.veil.over(message));
    }

    fn error(&self, error: Error, reason: &str) {
        let reason = self.veil.over(reason);
        if self.quiet {
            tracing::debug!(%error, "The Kafka client reports: {reason}");
        } else {
            log::error(&error, &reason);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        let complaint = Complaint { code: error.rdkafka_error_code(), reason };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let all_down = complaint.code == Some(RDKafkaErrorCode::AllBrokersDown);
        self.all_down.fetch_or(all_down, Ordering::Relaxed);
        let known = last.as_ref().is_some_and(Complaint::is_lasting);
        if complaint.is_lasting() || !(all_down || known) {
            *last = Some(complaint);
        }
    }
}

impl ConsumerContext for Voice {}
