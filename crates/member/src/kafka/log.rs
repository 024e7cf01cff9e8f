//! Passes librdkafka's log lines and errors on to `tracing`.

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;

/// Logs a line of librdkafka's own log.
pub(super) fn line(level: RDKafkaLogLevel, facility: &str, message: &str) {
    let message = tandem_host::shown::line(message);
    match level {
        RDKafkaLogLevel::Emerg
        | RDKafkaLogLevel::Alert
        | RDKafkaLogLevel::Critical
        | RDKafkaLogLevel::Error => tracing::error!(facility, "librdkafka: {message}"),
        RDKafkaLogLevel::Warning => tracing::warn!(facility, "librdkafka: {message}"),
        RDKafkaLogLevel::Notice | RDKafkaLogLevel::Info => {
            tracing::info!(facility, "librdkafka: {message}");
        }
        RDKafkaLogLevel::Debug => tracing::debug!(facility, "librdkafka: {message}"),
    }
}

/// Logs an error of the whole client, and how many of its kind were not logged since the last one.
/// The client goes on by itself, so it is a warning.
pub(super) fn error(error: &KafkaError, reason: &str, held_back: u64) {
    let reason = tandem_host::shown::line(reason);
    if held_back == 0 {
        tracing::warn!(%error, "The Kafka client reports: {reason}");
    } else {
        tracing::warn!(%error, held_back, "The Kafka client reports: {reason}");
    }
}
