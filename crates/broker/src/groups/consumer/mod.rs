//! Consumer groups of the newer protocol (KIP-848): the coordinator assigns the partitions, and a
//! heartbeat is all that a member sends.
//!
//!   heartbeat --> member and group epoch --> target assignment --> what this member may hold now
//!
//! A group has an epoch, which a change of members or topics raises. The first heartbeat after that
//! computes the target assignment of that epoch, and each member moves towards it with its own
//! heartbeats: it first gives up what it must (`UnrevokedPartitions`), then gets what is free, and
//! waits for the rest (`UnreleasedPartitions`). A partition is free once its former owner has
//! confirmed that it gave it up, or was fenced. So no partition ever has two owners.
//!
//! The answers are those of Apache Kafka 4.3 with `group.consumer.migration.policy=disabled`;
//! `tests/data/consumer/*.txt` are run against both. There are five differences:
//!
//! - A classic member cannot join a group that has members of this protocol, which answers
//!   INCONSISTENT_GROUP_PROTOCOL; Kafka would let it in if it can.
//! - A regular expression is read as the crate `regex-lite` does, not as RE2J does. What one
//!   matches is looked up at once; a group of Kafka that has others looks at most once in 10 s.
//! - A target assignment is computed at once, as with `group.consumer.assignment.interval.ms=0`.
//! - `uniform` balances the partitions as Kafka's does, but may choose other ones.
//! - Where members prefer different assignors equally often, the first by name is taken.

mod assignor;
mod catalog;
mod commit;
mod describe;
mod expiry;
mod group;
mod heartbeat;
mod leave;
mod member;
mod pattern;
mod reconcile;
mod settings;

pub use catalog::{Partition, TopicId};
pub use describe::{ConsumerDescription, ConsumerMemberDescription};
pub use group::ConsumerState;
pub use heartbeat::{ConsumerHeartbeat, ConsumerReply};
pub use settings::{ConsumerSettings, GroupOverrides};

pub(super) use catalog::Catalog;
pub(super) use group::ConsumerGroup;
