//! librdkafka's log lines and errors, told through `tracing`.

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;

/// A line of librdkafka's own log.
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

/// An error of the client as a whole: it goes on by itself, so this is a warning to us.
pub(super) fn error(error: &KafkaError, reason: &str) {
    let reason = tandem_host::shown::line(reason);
    tracing::warn!(%error, "The Kafka client reports: {reason}");
}
