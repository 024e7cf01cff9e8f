//! The state of the broker, behind the hub's lock, and the context of a request.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use kafka_protocol::protocol::StrBytes;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tokio::sync::{Notify, oneshot};
use uuid::Uuid;

use super::advertised::Advertised;
use super::kept::Kept;
use super::settings::BrokerSettings;
use super::topic::Topic;
use super::topics::Topics;
use crate::groups::{Coordinator, ReplyBody, Token};
use tandem_facts::time::{Mono, Wall};

/// The broker's id.
pub(super) const NODE: i32 = 1;

/// The context of a request: its connection, time and version.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) now: Mono,
    pub(super) wall: Wall,
    pub(super) version: i16,
    pub(super) client_id: &'a str,
    pub(super) caller: &'a Caller,
}

/// The connection of a request.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) connection: u64,
    pub(super) peer: IpAddr,
    /// The address in metadata.
    pub(super) place: Advertised,
    /// Wakes the fetch that waits on this connection.
    pub(super) wake: Arc<Notify>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) settings: BrokerSettings,
    pub(super) topics: Topics,
    pub(super) coordinator: Coordinator,
    pub(super) kept: Kept,
    pub(super) next_producer: i64,
    pub(super) cluster_id: String,
    /// The bytes appended since retention was last applied.
    pub(super) appended: usize,
    parked: BTreeMap<Token, oneshot::Sender<ReplyBody>>,
    tokens: u64,
    chance: ChaCha8Rng,
}

impl State {
    pub(super) fn new(settings: BrokerSettings, kept: Kept) -> Self {
        let fences = kept.fences().clone();
        let mut state = Self {
            topics: Topics::default(),
            coordinator: Coordinator::new(settings.groups.clone()),
            kept,
            next_producer: 1,
            cluster_id: String::new(),
            appended: 0,
            parked: BTreeMap::new(),
            tokens: 0,
            chance: ChaCha8Rng::seed_from_u64(settings.seed),
            settings,
        };
        state.restore(&fences);
        state.cluster_id = format!("tandem-{}", state.unique());
        state
    }

    /// A random UUID of version 4.
    pub(super) fn unique(&mut self) -> Uuid {
        let bits = (u128::from(self.chance.next_u64()) << 64) | u128::from(self.chance.next_u64());
        let version = (bits & !(0xf_u128 << 76)) | (0x4_u128 << 76);
        Uuid::from_u128((version & !(0x3_u128 << 62)) | (0x2_u128 << 62))
    }

    /// Registers an answer that may have to wait.
    pub(super) fn park(&mut self) -> (Token, oneshot::Receiver<ReplyBody>) {
        let (answer, wait) = oneshot::channel();
        self.tokens += 1;
        let token = Token(self.tokens);
        self.parked.insert(token, answer);
        (token, wait)
    }

    /// Delivers the coordinator's answers. An answer to a closed connection is dropped.
    pub(super) fn deliver(&mut self) {
        while let Some(reply) = self.coordinator.poll_reply() {
            if let Some(answer) = self.parked.remove(&reply.token) {
                drop(answer.send(reply.body));
            }
        }
    }

    /// Applies retention early if many bytes were appended since the last time.
    pub(super) fn make_room(&mut self, now: Wall) {
        if self.appended > self.settings.log_bytes_max / 8 {
            self.retain(now);
        }
    }

    /// Applies retention: drops batches that are too old, then the oldest batches of logs that are
    /// too large.
    pub(super) fn retain(&mut self, now: Wall) {
        self.appended = 0;
        for topic in self.topics.values_mut() {
            topic.retain(now, self.settings.retention);
        }
        loop {
            let logs = || self.topics.values().flat_map(Topic::logs);
            let held: usize = logs().map(super::log::Log::bytes).sum();
            if held <= self.settings.log_bytes_max {
                return;
            }
            let logs = self.topics.values_mut().flat_map(Topic::logs_mut);
            let Some(largest) = logs.max_by_key(|log| log.bytes()) else { return };
            let excess = held - self.settings.log_bytes_max;
            largest.shrink(largest.bytes().saturating_sub(excess));
        }
    }

    /// Forgets the waiting requests of a closed connection.
    pub(super) fn forget(&mut self, connection: u64) {
        for log in self.topics.values_mut().flat_map(Topic::logs_mut) {
            log.forget(connection);
        }
    }
}

/// A string for the wire.
pub(super) fn text(text: impl Into<String>) -> StrBytes {
    StrBytes::from_string(text.into())
}
