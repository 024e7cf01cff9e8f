//! The error codes of the broker's own answers. Those of groups are in `groups::Fault`.

/// No error.
pub(super) const NONE: i16 = 0;
pub(super) const OFFSET_OUT_OF_RANGE: i16 = 1;
pub(super) const CORRUPT_MESSAGE: i16 = 2;
pub(super) const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
pub(super) const MESSAGE_TOO_LARGE: i16 = 10;
pub(super) const INVALID_TOPIC: i16 = 17;
pub(super) const INVALID_REQUIRED_ACKS: i16 = 21;
pub(super) const UNSUPPORTED_VERSION: i16 = 35;
pub(super) const TOPIC_ALREADY_EXISTS: i16 = 36;
pub(super) const INVALID_PARTITIONS: i16 = 37;
pub(super) const INVALID_REPLICATION_FACTOR: i16 = 38;
pub(super) const INVALID_REPLICA_ASSIGNMENT: i16 = 39;
pub(super) const INVALID_CONFIG: i16 = 40;
pub(super) const INVALID_REQUEST: i16 = 42;
pub(super) const POLICY_VIOLATION: i16 = 44;
pub(super) const OUT_OF_ORDER_SEQUENCE_NUMBER: i16 = 45;
pub(super) const INVALID_PRODUCER_EPOCH: i16 = 47;
pub(super) const FETCH_SESSION_ID_NOT_FOUND: i16 = 70;
pub(super) const INVALID_RECORD: i16 = 87;
pub(super) const UNKNOWN_TOPIC_ID: i16 = 100;
