//! The broker's settings, with defaults for tests on one machine.

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use super::advertised::Advertised;
use crate::groups;

/// The behaviour of the broker, and its limits.
#[derive(Debug, Clone)]
pub struct BrokerSettings {
    /// The settings and limits of consumer groups.
    pub groups: groups::CoordinatorSettings,
    /// The greatest number of connections; further ones are closed at once.
    pub connections_max: usize,
    /// The memory for requests and answers of all connections. Frames above 4 KiB wait while it is
    /// exhausted. At least 16 MiB, the length of the longest frame.
    pub transit_bytes_max: usize,
    /// How long a connection waits for memory before it is closed.
    pub room_within: Duration,
    /// The greatest number of partitions in all topics together.
    pub partitions_max: usize,
    /// The greatest size of all logs together. Above it, the largest log loses its oldest batches.
    pub log_bytes_max: usize,
    /// With so many partitions a topic is created when a client asks for its metadata and wants it
    /// created: `auto.create.topics.enable` and `num.partitions`. None creates none.
    pub auto_create: Option<NonZeroU32>,
    /// The default of the topic setting `max.message.bytes`.
    pub batch_bytes_max: usize,
    /// The default of the topic setting `retention.ms`.
    pub retention: Duration,
    /// The longest silence between two requests of a connection: `connections.max.idle.ms`.
    pub idle: Duration,
    /// The address in metadata: `advertised.listeners`. Without one, metadata names the address by
    /// which its client reached the broker.
    pub advertise: Option<Advertised>,
    /// The file in which the broker keeps what outlives it: the offsets that groups commit under
    /// partitions of `__consumer_offsets`, as Tandem's exclusive groups do with their fences. None
    /// if it keeps nothing. No two brokers may share it.
    pub fences: Option<PathBuf>,
    /// The seed of the ids of members and topics. Equal seeds give equal ids, so two brokers that
    /// run one after the other must not share a seed.
    pub seed: u64,
}

impl Default for BrokerSettings {
    fn default() -> Self {
        Self {
            groups: groups::CoordinatorSettings::default(),
            // A member has up to ten connections while it joins.
            connections_max: 16_384,
            transit_bytes_max: 64 << 20,
            room_within: Duration::from_secs(10),
            partitions_max: 10_000,
            log_bytes_max: 256 << 20,
            auto_create: None,
            batch_bytes_max: 1_048_588,
            retention: Duration::from_hours(168),
            idle: Duration::from_mins(10),
            advertise: None,
            fences: None,
            // The keys of the standard library's hash come from the operating system's generator.
            seed: RandomState::new().hash_one(0),
        }
    }
}
