//! One member of a group, as the coordinator sees it.

use std::time::Duration;

use bytes::Bytes;

use super::coordinator::Token;
use tandem_facts::time::Mono;

/// An assignor that the member supports, with the member's subscription.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Protocol {
    /// The assignor's name: `range`, `roundrobin`.
    pub name: String,
    /// The member's subscription, opaque to the coordinator.
    pub metadata: Bytes,
}

/// A member that has joined. The group stores it under its id.
#[derive(Debug, Clone, Hash)]
pub(super) struct Member {
    pub(super) instance_id: Option<String>,
    pub(super) client_id: String,
    pub(super) client_host: String,
    pub(super) session: Duration,
    pub(super) rebalance: Duration,
    /// The protocols, in the order of preference.
    pub(super) protocols: Vec<Protocol>,
    pub(super) assignment: Bytes,
    /// The waiting join.
    pub(super) joining: Option<Token>,
    /// The waiting sync.
    pub(super) syncing: Option<Token>,
    /// Whether the member has not received a reply to a join yet. Until then it cannot send
    /// heartbeats, so waiting does not renew its session.
    pub(super) new: bool,
    /// When the session ends, unless it is renewed.
    pub(super) expiry: Option<Mono>,
}

impl Member {
    /// Whether the member supports this protocol.
    pub(super) fn supports(&self, name: &str) -> bool {
        self.protocols.iter().any(|protocol| protocol.name == name)
    }

    /// The member's subscription under this protocol.
    pub(super) fn metadata(&self, name: &str) -> Bytes {
        let found = self.protocols.iter().find(|protocol| protocol.name == name);
        found.map(|protocol| protocol.metadata.clone()).unwrap_or_default()
    }

    /// Whether the member needs no heartbeats, since it waits for other members.
    pub(super) const fn is_excused(&self) -> bool {
        !self.new && (self.joining.is_some() || self.syncing.is_some())
    }

    /// Renews the session at `now`.
    pub(super) fn renew(&mut self, now: Mono) {
        self.expiry = Some(now + self.session);
    }
}
