//! One member of a group, as the coordinator sees it.

use std::time::Duration;

use bytes::Bytes;

use super::coordinator::Token;
use tandem_facts::time::Mono;

/// A way to share out the partitions, with what the member wants to tell the leader about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protocol {
    /// The assignor's name: `range`, `roundrobin`.
    pub name: String,
    /// The member's subscription, opaque to the coordinator.
    pub metadata: Bytes,
}

/// A member that has joined; its id is the key under which the group holds it.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) instance_id: Option<String>,
    pub(super) client_id: String,
    pub(super) client_host: String,
    pub(super) session: Duration,
    pub(super) rebalance: Duration,
    /// In the order of the member's preference.
    pub(super) protocols: Vec<Protocol>,
    pub(super) assignment: Bytes,
    /// The join that waits for the others.
    pub(super) joining: Option<Token>,
    /// The sync that waits for the leader's.
    pub(super) syncing: Option<Token>,
    /// Has never been answered a join: it cannot send heartbeats, so waiting is no sign of life.
    pub(super) new: bool,
    /// When its session ends, unless it shows up before.
    pub(super) expiry: Option<Mono>,
}

impl Member {
    /// Whether it supports this protocol.
    pub(super) fn supports(&self, name: &str) -> bool {
        self.protocols.iter().any(|protocol| protocol.name == name)
    }

    /// What it has to say under this protocol.
    pub(super) fn metadata(&self, name: &str) -> Bytes {
        let found = self.protocols.iter().find(|protocol| protocol.name == name);
        found.map(|protocol| protocol.metadata.clone()).unwrap_or_default()
    }

    /// Whether it is excused from heartbeats because it waits for the others.
    pub(super) const fn is_excused(&self) -> bool {
        !self.new && (self.joining.is_some() || self.syncing.is_some())
    }

    /// Heard of at `now`: its session starts anew.
    pub(super) fn renew(&mut self, now: Mono) {
        self.expiry = Some(now + self.session);
    }
}
