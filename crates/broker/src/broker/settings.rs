//! What can be set, with defaults for tests on one machine.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use crate::groups;

/// How the broker behaves and how much it holds.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The consumer groups' rules and bounds.
    pub groups: groups::Settings,
    /// How many connections there may be; more are closed as they come.
    pub connections_max: usize,
    /// How many bytes all connections together may have on their way in and out; what is longer
    /// than 4 KiB waits where there is no room. The longest frame, 16 MiB, at least.
    pub transit_bytes_max: usize,
    /// How long a connection waits for that room before it is closed.
    pub room_within: Duration,
    /// How many partitions there may be in all topics together.
    pub partitions_max: usize,
    /// How many bytes all logs together may hold; the largest loses its oldest batches first.
    pub log_bytes_max: usize,
    /// `max.message.bytes` of a topic that does not say otherwise.
    pub batch_bytes_max: usize,
    /// `retention.ms` of a topic that does not say otherwise.
    pub retention: Duration,
    /// How long a connection may be silent between two requests: `connections.max.idle.ms`.
    pub idle: Duration,
    /// Seeds the ids of members and topics. Equal seeds give equal ids, so two brokers that live
    /// one after the other must not share one.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            groups: groups::Settings::default(),
            // A member has up to ten while it joins.
            connections_max: 16_384,
            transit_bytes_max: 64 << 20,
            room_within: Duration::from_secs(10),
            partitions_max: 10_000,
            log_bytes_max: 256 << 20,
            batch_bytes_max: 1_048_588,
            retention: Duration::from_hours(168),
            idle: Duration::from_mins(10),
            // The standard library's hash keys come from the operating system's generator.
            seed: RandomState::new().hash_one(0),
        }
    }
}
