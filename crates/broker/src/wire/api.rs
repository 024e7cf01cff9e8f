//! The supported APIs and their versions.

use kafka_protocol::messages::ApiKey;

/// The API key as a number.
#[must_use]
#[expect(clippy::as_conversions, reason = "the crate gives the number in no other way")]
pub const fn number(key: ApiKey) -> i16 {
    key as i16
}

/// An API and its supported versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Api {
    /// The API key.
    pub key: ApiKey,
    /// The oldest supported version, which is Kafka 4's own minimum.
    pub min: i16,
    /// The newest supported version.
    pub max: i16,
    /// The first version with compact lengths and tagged fields (KIP-482).
    pub flexible: i16,
}

const fn api(key: ApiKey, min: i16, max: i16, flexible: i16) -> Api {
    Api { key, min, max, flexible }
}

/// All supported APIs, by key. Produce ends before the version that replaces topic names by ids.
pub const SUPPORTED: [Api; 26] = [
    api(ApiKey::Produce, 3, 11, 9),
    api(ApiKey::Fetch, 4, 17, 12),
    api(ApiKey::ListOffsets, 1, 7, 6),
    api(ApiKey::Metadata, 0, 12, 9),
    api(ApiKey::OffsetCommit, 2, 9, 8),
    api(ApiKey::OffsetFetch, 1, 9, 6),
    api(ApiKey::FindCoordinator, 0, 5, 3),
    api(ApiKey::JoinGroup, 0, 9, 6),
    api(ApiKey::Heartbeat, 0, 4, 4),
    api(ApiKey::LeaveGroup, 0, 5, 4),
    api(ApiKey::SyncGroup, 0, 5, 4),
    api(ApiKey::DescribeGroups, 0, 6, 5),
    api(ApiKey::ListGroups, 0, 5, 3),
    api(ApiKey::ApiVersions, 0, 4, 3),
    api(ApiKey::CreateTopics, 2, 7, 5),
    api(ApiKey::DeleteTopics, 1, 6, 4),
    api(ApiKey::DeleteRecords, 0, 2, 2),
    api(ApiKey::InitProducerId, 0, 5, 2),
    api(ApiKey::DescribeConfigs, 1, 4, 4),
    api(ApiKey::DescribeLogDirs, 1, 4, 2),
    api(ApiKey::CreatePartitions, 0, 3, 2),
    api(ApiKey::DeleteGroups, 0, 2, 2),
    api(ApiKey::IncrementalAlterConfigs, 0, 1, 1),
    api(ApiKey::DescribeCluster, 0, 2, 0),
    api(ApiKey::ConsumerGroupHeartbeat, 0, 1, 0),
    api(ApiKey::ConsumerGroupDescribe, 0, 1, 0),
];

/// The supported versions of the API with this key, if there are any.
#[must_use]
pub fn supported(key: i16) -> Option<Api> {
    let key = ApiKey::try_from(key).ok()?;
    SUPPORTED.into_iter().find(|api| api.key == key)
}
