//! Kafka's ConsumerProtocol: what members tell the leader and what the leader tells them, as bytes.
//!
//! Written are subscriptions in version 3 and assignments in version 0. Read is any version: each
//! only adds fields at the end.

use std::collections::{BTreeMap, BTreeSet};

use crate::bytes::{Reader, Writer};
use tandem_facts::ids::PartitionId;

/// Partitions by topic.
pub type Partitions = BTreeMap<String, BTreeSet<PartitionId>>;

const SUBSCRIPTION_VERSION: i16 = 3;
const ASSIGNMENT_VERSION: i16 = 0;

/// What a member subscribes to and holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subscription {
    /// The topics that it wants partitions of.
    pub topics: BTreeSet<String>,
    /// What the assignor itself says.
    pub user_data: Vec<u8>,
    /// What the member holds as it joins; nothing under an eager assignor.
    pub owned: Partitions,
    /// The generation that gave it what it holds.
    pub generation: Option<i32>,
}

impl Subscription {
    /// The bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.i16(SUBSCRIPTION_VERSION);
        to.length(self.topics.len());
        self.topics.iter().for_each(|topic| to.string(topic));
        to.bytes(&self.user_data);
        to.partitions(&self.owned);
        to.i32(self.generation.unwrap_or(-1));
        to.null_string(); // no rack
        to.finish()
    }

    /// The subscription in these bytes, if there is one.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let version = from.i16().filter(|version| *version >= 0)?;
        let count = from.length()?;
        let topics = (0..count).map(|_| from.string()).collect::<Option<_>>()?;
        let user_data = from.bytes()?.to_vec();
        let owned = if version >= 1 { from.partitions()? } else { Partitions::new() };
        let generation = if version >= 2 { Some(from.i32()?) } else { None };
        let generation = generation.filter(|generation| *generation >= 0);
        Some(Self { topics, user_data, owned, generation })
    }
}

/// The user data of `sticky`: what the member was given last, and in which generation. librdkafka
/// sends it under `cooperative-sticky` as well.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StickyData {
    /// What it was given.
    pub previous: Partitions,
    /// When; clients before 2.1 do not say.
    pub generation: Option<i32>,
}

impl StickyData {
    /// The bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.partitions(&self.previous);
        to.i32(self.generation.unwrap_or(-1));
        to.finish()
    }

    /// The user data in these bytes, if that is what they are.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let previous = from.partitions()?;
        let generation = if from.0.is_empty() { None } else { Some(from.i32()?) };
        from.0.is_empty().then_some(())?;
        Some(Self { previous, generation: generation.filter(|generation| *generation >= 0) })
    }
}

/// A member's share, as the leader writes it.
#[must_use]
pub fn encode_assignment(share: &Partitions) -> Vec<u8> {
    let mut to = Writer::default();
    to.i16(ASSIGNMENT_VERSION);
    to.partitions(share);
    to.bytes(&[]);
    to.finish()
}

/// The share in these bytes, if there is one. A leader that has nothing for a member may send no
/// bytes at all.
#[must_use]
pub fn decode_assignment(bytes: &[u8]) -> Option<Partitions> {
    if bytes.is_empty() {
        return Some(Partitions::new());
    }
    let mut from = Reader(bytes);
    from.i16().filter(|version| *version >= 0)?;
    from.partitions()
}
