//! Kafka's ConsumerProtocol: what members tell the leader and what the leader tells them, as bytes.
//!
//! Written are subscriptions in version 3 and assignments in version 0. Read is any version: each
//! only adds fields at the end.
//!
//! What a member does not reach is written as part of the user data of `sticky`, under every
//! assignor: as partitions of topics whose names no topic can have, for `!` is no letter of theirs.
//! An assignor that does not know them passes over them as over any topic that is gone, and the
//! length of the data is what such assignors expect: Sarama's refuses bytes behind the last field.

use std::collections::{BTreeMap, BTreeSet};

use crate::bytes::{Reader, Writer};
use tandem_facts::ids::PartitionId;

/// Partitions by topic.
pub type Partitions = BTreeMap<String, BTreeSet<PartitionId>>;

const SUBSCRIPTION_VERSION: i16 = 3;
const ASSIGNMENT_VERSION: i16 = 0;
/// Follows the name of a topic: which of its partitions the member does not reach.
const UNREACHABLE: &str = "!unreachable";
/// The name of a topic: how often the member gave way, as a partition.
const TURN: &str = "!turn";
/// The user data of an assignment by a leader that heeds what members do not reach.
const HEEDED: &[u8] = b"tandem: heeds unreachable";

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
    /// What the member does not reach.
    pub unreachable: Partitions,
    /// How often it gave way on something that it does not reach.
    pub turn: u32,
}

impl StickyData {
    /// The bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut all = self.previous.clone();
        for (topic, partitions) in &self.unreachable {
            all.insert(format!("{topic}{UNREACHABLE}"), partitions.clone());
        }
        if !self.unreachable.is_empty() {
            all.insert(TURN.to_owned(), BTreeSet::from([PartitionId(self.turn)]));
        }
        let mut to = Writer::default();
        to.partitions(&all);
        to.i32(self.generation.unwrap_or(-1));
        to.finish()
    }

    /// The user data in these bytes, if that is what they are.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let mut previous = from.partitions()?;
        let turns = previous.remove(TURN).and_then(|turns| turns.last().copied());
        let turn = turns.map_or(0, |turn| turn.0);
        let mut unreachable = Partitions::new();
        previous.retain(|topic, partitions| match topic.strip_suffix(UNREACHABLE) {
            Some(topic) => {
                unreachable.insert(topic.to_owned(), std::mem::take(partitions));
                false
            }
            None => true,
        });
        let generation = if from.0.is_empty() { None } else { Some(from.i32()?) };
        from.0.is_empty().then_some(())?;
        let generation = generation.filter(|generation| *generation >= 0);
        Some(Self { previous, generation, unreachable, turn })
    }
}

/// A member's share, as the leader writes it.
#[must_use]
pub fn encode_assignment(share: &Partitions) -> Vec<u8> {
    let mut to = Writer::default();
    to.i16(ASSIGNMENT_VERSION);
    to.partitions(share);
    to.bytes(HEEDED);
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

/// Whether the leader that wrote this share heeds what members do not reach.
#[must_use]
pub fn heeds_unreachable(share: &[u8]) -> bool {
    let mut from = Reader(share);
    let user_data = from.i16().and_then(|_| from.partitions()).and_then(|_| from.bytes());
    user_data.is_some_and(|user_data| user_data == HEEDED)
}
