//! The names of APIs and errors, and Kafka's numbers for them.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::ApiKey;

use super::number;

/// The APIs that a member's client uses.
const ASKED: [ApiKey; 19] = [
    ApiKey::Produce,
    ApiKey::Fetch,
    ApiKey::ListOffsets,
    ApiKey::Metadata,
    ApiKey::OffsetCommit,
    ApiKey::OffsetFetch,
    ApiKey::FindCoordinator,
    ApiKey::JoinGroup,
    ApiKey::Heartbeat,
    ApiKey::LeaveGroup,
    ApiKey::SyncGroup,
    ApiKey::SaslHandshake,
    ApiKey::ApiVersions,
    ApiKey::InitProducerId,
    ApiKey::OffsetForLeaderEpoch,
    ApiKey::SaslAuthenticate,
    ApiKey::ConsumerGroupHeartbeat,
    ApiKey::GetTelemetrySubscriptions,
    ApiKey::PushTelemetry,
];

/// The APIs of a group's coordinator, and the one that finds it.
pub const COORDINATOR: [i16; 8] = [
    number(ApiKey::FindCoordinator),
    number(ApiKey::JoinGroup),
    number(ApiKey::SyncGroup),
    number(ApiKey::Heartbeat),
    number(ApiKey::LeaveGroup),
    number(ApiKey::OffsetCommit),
    number(ApiKey::OffsetFetch),
    number(ApiKey::ConsumerGroupHeartbeat),
];

/// Without an answer to this a member hears nothing.
pub const FETCH: i16 = number(ApiKey::Fetch);

/// The APIs of a partition's leader.
pub const DATA: [i16; 3] =
    [number(ApiKey::Produce), number(ApiKey::Fetch), number(ApiKey::ListOffsets)];

/// Kafka's error codes are all below this number.
const ERRORS: i16 = 200;

/// The names of the APIs that a member's client uses, in snake_case.
#[must_use]
pub fn api_names() -> Vec<String> {
    ASKED.iter().map(|key| snake(&format!("{key:?}"))).collect()
}

/// The key of an API, by its name: `join_group`, or Kafka's own `JoinGroup`.
#[must_use]
pub fn api_named(name: &str) -> Option<i16> {
    let known = ASKED.into_iter().find(|key| same(&format!("{key:?}"), name));
    known.map(number)
}

/// The name of an API, in snake_case; its number if it has none.
#[must_use]
pub fn api_name(number: i16) -> String {
    ApiKey::try_from(number).map_or_else(|()| number.to_string(), |key| snake(&format!("{key:?}")))
}

/// The names of Kafka's errors, as `NOT_COORDINATOR`.
#[must_use]
pub fn error_names() -> Vec<String> {
    errors().map(|error| snake(&error.to_string()).to_uppercase()).collect()
}

/// The code of an error, by its name: `NOT_COORDINATOR`, `NotCoordinator`.
#[must_use]
pub fn error_named(name: &str) -> Option<i16> {
    errors().find(|error| same(&error.to_string(), name)).map(|error| error.code())
}

/// Whether Kafka has an error with this code.
#[must_use]
pub fn is_error(code: i16) -> bool {
    errors().any(|error| error.code() == code)
}

fn errors() -> impl Iterator<Item = ResponseError> {
    let known = (-1..=ERRORS).filter_map(ResponseError::try_from_code);
    known.filter(|error| !matches!(error, ResponseError::Unknown(_)))
}

/// Whether two names are equal up to case and separators.
fn same(known: &str, name: &str) -> bool {
    known.eq_ignore_ascii_case(&name.replace('_', ""))
}

/// `JoinGroup` as `join_group`.
fn snake(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push('_');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_however_its_words_are_put_together() {
        for name in ["join_group", "JoinGroup", "JOIN_GROUP"] {
            assert_eq!(api_named(name), Some(11));
        }
        assert_eq!(api_named("vote"), None, "only brokers send it");
        assert_eq!(api_name(12), "heartbeat");
        assert_eq!(api_name(-7), "-7");
        for name in ["NOT_COORDINATOR", "NotCoordinator", "not_coordinator"] {
            assert_eq!(error_named(name), Some(16));
        }
        assert!(error_names().contains(&"UNKNOWN_SERVER_ERROR".to_owned()));
        assert!(is_error(16) && is_error(-1) && !is_error(0) && !is_error(199));
    }
}
