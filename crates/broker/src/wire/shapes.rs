//! The shape of each supported request, from Kafka's message definitions.

use kafka_protocol::messages::ApiKey;

use super::shape::Shape::{Blob, Fixed, List, Many, One, Tagged, Text};
use super::shape::{Field, Shape};

const NEWEST: i16 = i16::MAX;

pub(super) const fn all(shape: Shape) -> Field {
    Field { since: 0, until: NEWEST, shape }
}
pub(super) const fn since(since: i16, shape: Shape) -> Field {
    Field { since, until: NEWEST, shape }
}
pub(super) const fn until(until: i16, shape: Shape) -> Field {
    Field { since: 0, until, shape }
}

pub(super) const BOOL: Shape = Fixed(1);
pub(super) const I8: Shape = Fixed(1);
pub(super) const I16: Shape = Fixed(2);
pub(super) const I32: Shape = Fixed(4);
pub(super) const I64: Shape = Fixed(8);
pub(super) const UUID: Shape = Fixed(16);

/// API key, version, correlation id; the client id, which follows, is never compact.
pub(super) const HEADER: &[Field] = &[all(I16), all(I16), all(I32)];

/// Topics are identified by name, and by id from some version on.
const fn names(until_version: i16) -> Field {
    until(until_version, Text)
}

const PRODUCE: &[Field] = &[
    all(Text),
    all(I16),
    all(I32),
    all(Many(&[names(12), since(13, UUID), all(Many(&[all(I32), all(Blob)]))])),
];

const FETCH: &[Field] = &[
    until(14, I32),
    all(I32),
    all(I32),
    all(I32),
    all(I8),
    since(7, I32),
    since(7, I32),
    all(Many(&[
        names(12),
        since(13, UUID),
        all(Many(&[
            all(I32),
            since(9, I32),
            all(I64),
            since(12, I32),
            since(5, I64),
            all(I32),
            since(17, Tagged(0, &UUID)),
            since(18, Tagged(1, &I64)),
        ])),
    ])),
    since(7, Many(&[names(12), since(13, UUID), all(List(&I32))])),
    since(11, Text),
    all(Tagged(0, &Text)),
    since(15, Tagged(1, &One(&[all(I32), all(I64)]))),
];

const LIST_OFFSETS: &[Field] = &[
    all(I32),
    since(2, I8),
    all(Many(&[all(Text), all(Many(&[all(I32), since(4, I32), all(I64)]))])),
    since(10, I32),
];

const METADATA: &[Field] = &[
    all(Many(&[since(10, UUID), all(Text)])),
    since(4, BOOL),
    Field { since: 8, until: 10, shape: BOOL },
    since(8, BOOL),
];

const OFFSET_COMMIT: &[Field] = &[
    all(Text),
    all(I32),
    all(Text),
    since(7, Text),
    until(4, I64),
    all(Many(&[all(Text), all(Many(&[all(I32), all(I64), since(6, I32), all(Text)]))])),
];

const OFFSET_FETCH: &[Field] = &[
    until(7, Text),
    until(7, Many(&[all(Text), all(List(&I32))])),
    since(
        8,
        Many(&[all(Text), since(9, Text), since(9, I32), all(Many(&[all(Text), all(List(&I32))]))]),
    ),
    since(7, BOOL),
];

const FIND_COORDINATOR: &[Field] = &[until(3, Text), since(1, I8), since(4, List(&Text))];

const JOIN_GROUP: &[Field] = &[
    all(Text),
    all(I32),
    since(1, I32),
    all(Text),
    since(5, Text),
    all(Text),
    all(Many(&[all(Text), all(Blob)])),
    since(8, Text),
];

const HEARTBEAT: &[Field] = &[all(Text), all(I32), all(Text), since(3, Text)];

const LEAVE_GROUP: &[Field] =
    &[all(Text), until(2, Text), since(3, Many(&[all(Text), all(Text), since(5, Text)]))];

const SYNC_GROUP: &[Field] = &[
    all(Text),
    all(I32),
    all(Text),
    since(3, Text),
    since(5, Text),
    since(5, Text),
    all(Many(&[all(Text), all(Blob)])),
];

const CREATE_TOPICS: &[Field] = &[
    all(Many(&[
        all(Text),
        all(I32),
        all(I16),
        all(Many(&[all(I32), all(List(&I32))])),
        all(Many(&[all(Text), all(Text)])),
    ])),
    all(I32),
    all(BOOL),
];

const DELETE_TOPICS: &[Field] =
    &[until(5, List(&Text)), since(6, Many(&[all(Text), all(UUID)])), all(I32)];

const INIT_PRODUCER_ID: &[Field] = &[all(Text), all(I32), since(3, I64), since(3, I16)];

const DESCRIBE_CONFIGS: &[Field] =
    &[all(Many(&[all(I8), all(Text), all(List(&Text))])), all(BOOL), since(3, BOOL)];

const CREATE_PARTITIONS: &[Field] =
    &[all(Many(&[all(Text), all(I32), all(Many(&[all(List(&I32))]))])), all(I32), all(BOOL)];

const DELETE_RECORDS: &[Field] =
    &[all(Many(&[all(Text), all(Many(&[all(I32), all(I64)]))])), all(I32)];

const DESCRIBE_LOG_DIRS: &[Field] = &[all(Many(&[all(Text), all(List(&I32))]))];

const INCREMENTAL_ALTER_CONFIGS: &[Field] =
    &[all(Many(&[all(I8), all(Text), all(Many(&[all(Text), all(I8), all(Text)]))])), all(BOOL)];

const DESCRIBE_GROUPS: &[Field] = &[all(List(&Text)), since(3, BOOL)];

const LIST_GROUPS: &[Field] = &[since(4, List(&Text)), since(5, List(&Text))];

const API_VERSIONS: &[Field] = &[since(3, Text), since(3, Text)];

const DELETE_GROUPS: &[Field] = &[all(List(&Text))];

const DESCRIBE_CLUSTER: &[Field] = &[all(BOOL), since(1, I8), since(2, BOOL)];

const CONSUMER_GROUP_HEARTBEAT: &[Field] = &[
    all(Text),
    all(Text),
    all(I32),
    all(Text),
    all(Text),
    all(I32),
    all(List(&Text)),
    since(1, Text),
    all(Text),
    all(Many(&[all(UUID), all(List(&I32))])),
];

const CONSUMER_GROUP_DESCRIBE: &[Field] = &[all(List(&Text)), all(BOOL)];

/// The fields of a request; none if it is not supported.
#[expect(clippy::wildcard_enum_match_arm, reason = "Kafka has four times as many as are spoken")]
pub(super) const fn shape_of(key: ApiKey) -> Option<&'static [Field]> {
    Some(match key {
        ApiKey::Produce => PRODUCE,
        ApiKey::Fetch => FETCH,
        ApiKey::ListOffsets => LIST_OFFSETS,
        ApiKey::Metadata => METADATA,
        ApiKey::OffsetCommit => OFFSET_COMMIT,
        ApiKey::OffsetFetch => OFFSET_FETCH,
        ApiKey::FindCoordinator => FIND_COORDINATOR,
        ApiKey::JoinGroup => JOIN_GROUP,
        ApiKey::Heartbeat => HEARTBEAT,
        ApiKey::LeaveGroup => LEAVE_GROUP,
        ApiKey::SyncGroup => SYNC_GROUP,
        ApiKey::DescribeGroups => DESCRIBE_GROUPS,
        ApiKey::ListGroups => LIST_GROUPS,
        ApiKey::ApiVersions => API_VERSIONS,
        ApiKey::CreateTopics => CREATE_TOPICS,
        ApiKey::DeleteTopics => DELETE_TOPICS,
        ApiKey::InitProducerId => INIT_PRODUCER_ID,
        ApiKey::DescribeConfigs => DESCRIBE_CONFIGS,
        ApiKey::CreatePartitions => CREATE_PARTITIONS,
        ApiKey::DeleteGroups => DELETE_GROUPS,
        ApiKey::DeleteRecords => DELETE_RECORDS,
        ApiKey::DescribeLogDirs => DESCRIBE_LOG_DIRS,
        ApiKey::IncrementalAlterConfigs => INCREMENTAL_ALTER_CONFIGS,
        ApiKey::DescribeCluster => DESCRIBE_CLUSTER,
        ApiKey::ConsumerGroupHeartbeat => CONSUMER_GROUP_HEARTBEAT,
        ApiKey::ConsumerGroupDescribe => CONSUMER_GROUP_DESCRIBE,
        _ => return None,
    })
}
