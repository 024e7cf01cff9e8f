//! SyncGroup: the leader submits the assignment, and each member fetches its share.

use bytes::Bytes;

use super::Fault;
use super::coordinator::{Coordinator, Token, Turn};
use super::group::{Group, State};
use tandem_facts::time::Mono;

/// A SyncGroup request.
#[derive(Debug, Clone)]
pub struct Sync {
    /// The group.
    pub group: String,
    /// The member.
    pub member_id: String,
    /// The member's instance id, if it is static.
    pub instance_id: Option<String>,
    /// The generation that the member joined.
    pub generation: i32,
    /// Checked if the request and the group both have one.
    pub protocol_type: Option<String>,
    /// Checked if the request and the group both have one.
    pub protocol: Option<String>,
    /// Whether the request must contain both: from version 5 on (KIP-559).
    pub must_name_protocol: bool,
    /// From the leader: member ids and their shares.
    pub assignments: Vec<(String, Bytes)>,
}

/// A member's share of the assignment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Synced {
    /// `consumer`.
    pub protocol_type: Option<String>,
    /// The elected assignor.
    pub protocol: Option<String>,
    /// The partitions that the leader assigned; empty if it assigned none.
    pub assignment: Bytes,
}

/// The reply to a sync.
pub type SyncReply = Result<Synced, Fault>;

impl Coordinator {
    /// Handles a sync. The reply comes through [`poll_reply`](Self::poll_reply).
    pub fn handle_sync(&mut self, now: Mono, token: Token, sync: &Sync) {
        let nameless = sync.protocol_type.is_none() || sync.protocol.is_none();
        if sync.must_name_protocol && nameless {
            self.handle_timeout(now);
            return self.turn(now).sync(token, Err(Fault::InconsistentGroupProtocol));
        }
        let fault =
            if sync.group.is_empty() { Fault::InvalidGroupId } else { Fault::UnknownMemberId };
        if self.with(now, &sync.group, |group, turn| group.sync(turn, token, sync)).is_none() {
            self.turn(now).sync(token, Err(fault));
        }
    }
}

impl Group {
    fn sync(&mut self, turn: &mut Turn<'_>, token: Token, sync: &Sync) {
        if let Err(fault) = self.validate_sync(sync) {
            return turn.sync(token, Err(fault));
        }
        match self.state {
            State::Empty | State::Dead => turn.sync(token, Err(Fault::UnknownMemberId)),
            State::PreparingRebalance => turn.sync(token, Err(Fault::RebalanceInProgress)),
            State::CompletingRebalance => self.sync_completing(turn, token, sync),
            State::Stable => {
                self.has_synced(&sync.member_id);
                let synced = self.synced(&sync.member_id);
                turn.sync(token, Ok(synced));
            }
        }
    }

    fn validate_sync(&self, sync: &Sync) -> Result<(), Fault> {
        if self.state == State::Empty {
            return Err(Fault::UnknownMemberId);
        }
        self.validate(&sync.member_id, sync.instance_id.as_deref())?;
        if sync.generation != self.generation {
            return Err(Fault::IllegalGeneration);
        }
        let differs = |one: &Option<String>, other: &Option<String>| {
            one.is_some() && other.is_some() && one != other
        };
        if differs(&sync.protocol_type, &self.protocol_type)
            || differs(&sync.protocol, &self.protocol)
        {
            return Err(Fault::InconsistentGroupProtocol);
        }
        Ok(())
    }

    fn sync_completing(&mut self, turn: &mut Turn<'_>, token: Token, sync: &Sync) {
        let id = sync.member_id.as_str();
        if let Some(member) = self.members.get_mut(id)
            && let Some(old) = member.syncing.replace(token)
        {
            turn.sync(old, Err(Fault::RebalanceInProgress));
        }
        self.has_synced(id);
        if !self.leads(id) {
            return;
        }
        let bytes: usize = sync.assignments.iter().map(|(_, share)| share.len()).sum();
        if bytes > turn.settings.metadata_bytes_max {
            self.propagate(turn, Some(Fault::UnknownServerError));
            return self.prepare(turn);
        }
        for member in self.members.values_mut() {
            member.assignment = Bytes::new();
        }
        for (id, share) in &sync.assignments {
            if let Some(member) = self.members.get_mut(id) {
                member.assignment = share.clone();
            }
        }
        self.propagate(turn, None);
        self.go(State::Stable);
    }

    fn has_synced(&mut self, id: &str) {
        self.unsynced.remove(id);
        if self.unsynced.is_empty() {
            self.sync_timer = None;
        }
    }

    /// A member's share of the current generation.
    pub(super) fn synced(&self, id: &str) -> Synced {
        Synced {
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            assignment: self.members.get(id).map(|m| m.assignment.clone()).unwrap_or_default(),
        }
    }
}
