//! JoinGroup: a member joins, or joins again because the group rebalances.

use std::time::Duration;

use bytes::Bytes;

use super::Fault;
use super::coordinator::{Coordinator, Token, Turn};
use super::group::{Group, State};
use super::member::{Member, Protocol};
use tandem_facts::time::Mono;

/// A JoinGroup request.
#[derive(Debug, Clone)]
pub struct Join {
    /// The group.
    pub group: String,
    /// The member id; empty until the coordinator has assigned one.
    pub member_id: String,
    /// The instance id, which makes the member static (KIP-345).
    pub instance_id: Option<String>,
    /// The client id.
    pub client_id: String,
    /// The client's host.
    pub client_host: String,
    /// The suffix of a new member's id, which must be unique. Kafka uses a random UUID.
    pub suffix: String,
    /// The session timeout.
    pub session: Duration,
    /// The rebalance timeout: how long the other members wait for this one to join again.
    pub rebalance: Duration,
    /// `consumer`.
    pub protocol_type: String,
    /// The protocols, in the order of preference.
    pub protocols: Vec<Protocol>,
    /// Whether a new member must join twice: from version 4 on (KIP-394).
    pub needs_known_id: bool,
    /// Whether the leader can be asked to keep the assignment: from version 9 on.
    pub can_skip_assignment: bool,
}

/// The reply to a join.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JoinReply {
    /// The member id to use from now on; empty if the member must start again.
    pub member_id: String,
    /// The joined generation, or the error.
    pub outcome: Result<Joined, Fault>,
}

/// A generation, as one of its members sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Joined {
    /// The generation.
    pub generation: i32,
    /// `consumer`.
    pub protocol_type: Option<String>,
    /// The elected assignor.
    pub protocol: Option<String>,
    /// The member that computes the assignment.
    pub leader: String,
    /// Whether the leader must not compute an assignment (KIP-814).
    pub skip_assignment: bool,
    /// All members; filled for the leader only.
    pub members: Vec<JoinedMember>,
}

/// A member, as the leader sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JoinedMember {
    /// The member id.
    pub member_id: String,
    /// The instance id, if the member is static.
    pub instance_id: Option<String>,
    /// The subscription.
    pub metadata: Bytes,
}

impl JoinReply {
    pub(super) fn refused(member_id: &str, fault: Fault) -> Self {
        Self { member_id: member_id.to_owned(), outcome: Err(fault) }
    }
}

impl Coordinator {
    /// Handles a join. The reply comes through [`poll_reply`](Self::poll_reply).
    pub fn handle_join(&mut self, now: Mono, token: Token, join: &Join) {
        self.handle_timeout(now);
        let admitted = self.admit(join);
        if let Err(fault) = admitted {
            let reply = JoinReply::refused(&join.member_id, fault);
            self.turn(now).join(token, reply);
            return;
        }
        self.with(now, &join.group, |group, turn| group.join(turn, token, join));
    }

    /// Checks the request itself, before a group is looked up or created.
    fn admit(&mut self, join: &Join) -> Result<(), Fault> {
        let settings = self.settings();
        if join.group.is_empty() {
            return Err(Fault::InvalidGroupId);
        }
        if join.session < settings.session_min || join.session > settings.session_max {
            return Err(Fault::InvalidSessionTimeout);
        }
        let bytes: usize = join.protocols.iter().map(|p| p.name.len() + p.metadata.len()).sum();
        if bytes > settings.metadata_bytes_max {
            return Err(Fault::UnknownServerError);
        }
        if let Some(group) = self.consumers.get(&join.group) {
            if !group.is_empty() {
                return Err(Fault::InconsistentGroupProtocol);
            }
            if join.member_id.is_empty() {
                // The group becomes a classic one, and keeps its offsets.
                let group = self.consumers.remove(&join.group).unwrap_or_default();
                let classic = Group { offsets: group.offsets, ..Group::default() };
                self.groups.insert(join.group.clone(), classic);
            }
        }
        if join.member_id.is_empty() {
            self.create(&join.group)
        } else if self.groups.contains_key(&join.group) {
            Ok(())
        } else {
            Err(Fault::UnknownMemberId)
        }
    }
}

impl Group {
    fn join(&mut self, turn: &mut Turn<'_>, token: Token, join: &Join) {
        let refusal = if !self.has_room(turn, &join.member_id) {
            // A member that the full group refuses is removed, even if it was a member before.
            self.remove(turn, &join.member_id);
            Some(("", Fault::GroupMaxSizeReached))
        } else if !self.supports(&join.protocol_type, &join.protocols) {
            Some((join.member_id.as_str(), Fault::InconsistentGroupProtocol))
        } else {
            None
        };
        match refusal {
            Some((id, fault)) => turn.join(token, JoinReply::refused(id, fault)),
            None if join.member_id.is_empty() => self.join_new(turn, token, join),
            None => self.join_known(turn, token, join),
        }
    }

    /// While the group waits for joins, only waiting members count, so that the last to join again
    /// are refused.
    fn has_room(&self, turn: &Turn<'_>, id: &str) -> bool {
        let most = turn.settings.members_max;
        let member = self.members.get(id);
        if id.is_empty() && self.pending.len() >= most {
            return false;
        }
        match self.state {
            State::Empty | State::Dead => true,
            State::PreparingRebalance => {
                let waiting = self.members.values().filter(|m| m.joining.is_some()).count();
                member.is_some_and(|member| member.joining.is_some()) || waiting < most
            }
            State::CompletingRebalance | State::Stable => {
                member.is_some() || self.members.len() < most
            }
        }
    }

    fn join_new(&mut self, turn: &mut Turn<'_>, token: Token, join: &Join) {
        let name = join.instance_id.as_ref().unwrap_or(&join.client_id);
        let id = format!("{name}-{}", join.suffix);
        let holder = join.instance_id.as_ref().and_then(|instance| self.instances.get(instance));
        if let Some(old) = holder.cloned() {
            self.replace(turn, token, join, &old, &id);
        } else if join.instance_id.is_none() && join.needs_known_id {
            self.pending.insert(id.clone(), turn.now + join.session);
            turn.join(token, JoinReply::refused(&id, Fault::MemberIdRequired));
        } else {
            self.enter(turn, token, join, &id);
        }
    }

    fn join_known(&mut self, turn: &mut Turn<'_>, token: Token, join: &Join) {
        let id = join.member_id.as_str();
        // Kafka throws an exception if a pending member has become static meanwhile.
        if self.pending.contains_key(id) && join.instance_id.is_none() {
            return self.enter(turn, token, join, id);
        }
        if let Err(fault) = self.validate(id, join.instance_id.as_deref()) {
            return turn.join(token, JoinReply::refused(id, fault));
        }
        let unchanged =
            self.members.get(id).is_some_and(|member| member.protocols == join.protocols);
        // A follower that joins again may have missed the reply. A leader may know of changes that
        // its subscription does not show.
        let again = match self.state {
            State::CompletingRebalance => unchanged,
            State::Stable => unchanged && !self.leads(id),
            State::PreparingRebalance => false,
            State::Empty | State::Dead => {
                return turn.join(token, JoinReply::refused(id, Fault::UnknownMemberId));
            }
        };
        if again {
            turn.join(token, self.joined(id));
        } else {
            self.update(turn, token, join, id);
            self.rebalance_or_complete(turn);
        }
    }

    /// Adds a new member, so that all members must join again.
    fn enter(&mut self, turn: &mut Turn<'_>, token: Token, join: &Join, id: &str) {
        if self.state == State::PreparingRebalance && self.previous == State::Empty {
            self.newcomer = true;
        }
        let member = Member {
            instance_id: join.instance_id.clone(),
            client_id: join.client_id.clone(),
            client_host: join.client_host.clone(),
            session: join.session,
            rebalance: join.rebalance,
            protocols: join.protocols.clone(),
            assignment: Bytes::new(),
            joining: Some(token),
            syncing: None,
            new: true,
            expiry: Some(turn.now + turn.settings.new_member_join),
        };
        self.add(id, &join.protocol_type, member);
        self.rebalance_or_complete(turn);
    }

    /// Lets a member of the group wait for the next generation.
    pub(super) fn update(&mut self, turn: &mut Turn<'_>, token: Token, join: &Join, id: &str) {
        let Some(member) = self.members.get_mut(id) else { return };
        member.protocols.clone_from(&join.protocols);
        member.rebalance = join.rebalance;
        member.session = join.session;
        if let Some(old) = member.joining.replace(token) {
            turn.join(old, JoinReply::refused(id, Fault::RebalanceInProgress));
        }
    }

    /// The current generation, as this member sees it.
    pub(super) fn joined(&self, id: &str) -> JoinReply {
        let members = if self.leads(id) { self.roster() } else { Vec::new() };
        let joined = Joined {
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            leader: self.leader.clone().unwrap_or_default(),
            skip_assignment: false,
            members,
        };
        JoinReply { member_id: id.to_owned(), outcome: Ok(joined) }
    }

    /// All members with their subscriptions under the elected protocol.
    pub(super) fn roster(&self) -> Vec<JoinedMember> {
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let entry = |(id, member): (&String, &Member)| JoinedMember {
            member_id: id.clone(),
            instance_id: member.instance_id.clone(),
            metadata: member.metadata(protocol),
        };
        self.members.iter().map(entry).collect()
    }
}
