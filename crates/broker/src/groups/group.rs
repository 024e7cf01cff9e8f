//! One group: its state, its members, and its leader.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use super::commit::{CommittedOffset, TopicPartition};
use super::coordinator::Turn;
use super::expiry::JoinTimer;
use super::member::{Member, Protocol};
use super::{Fault, JoinReply};
use tandem_facts::time::Mono;

/// The state of a group, with Kafka's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum State {
    /// The group has no members; it may hold offsets.
    #[default]
    Empty,
    /// The group waits for its members to join.
    PreparingRebalance,
    /// The group waits for the leader's assignment.
    CompletingRebalance,
    /// Each member may fetch its assignment.
    Stable,
    /// The group does not exist.
    Dead,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
            Self::Dead => "Dead",
        })
    }
}

#[derive(Debug, Clone, Default, Hash)]
pub(super) struct Group {
    pub(super) state: State,
    pub(super) previous: State,
    pub(super) protocol_type: Option<String>,
    pub(super) protocol: Option<String>,
    pub(super) generation: i32,
    pub(super) leader: Option<String>,
    pub(super) members: BTreeMap<String, Member>,
    /// Member ids by instance id.
    pub(super) instances: BTreeMap<String, String>,
    /// Assigned ids that have not joined yet, and when they expire.
    pub(super) pending: BTreeMap<String, Mono>,
    /// The members that have not requested their assignment in this generation.
    pub(super) unsynced: BTreeSet<String>,
    /// Whether a member joined during the initial delay, which prolongs it.
    pub(super) newcomer: bool,
    pub(super) join_timer: Option<JoinTimer>,
    pub(super) sync_timer: Option<Mono>,
    pub(super) offsets: BTreeMap<TopicPartition, CommittedOffset>,
}

impl Group {
    pub(super) fn go(&mut self, state: State) {
        self.previous = self.state;
        self.state = state;
    }

    /// Whether a member with these protocols is compatible.
    pub(super) fn supports(&self, protocol_type: &str, protocols: &[Protocol]) -> bool {
        if self.state == State::Empty {
            return !protocol_type.is_empty() && !protocols.is_empty();
        }
        self.protocol_type.as_deref() == Some(protocol_type)
            && protocols.iter().any(|protocol| self.all_support(&protocol.name))
    }

    fn all_support(&self, name: &str) -> bool {
        self.members.values().all(|member| member.supports(name))
    }

    /// The protocol that most members prefer, among those that all members support. Kafka breaks
    /// ties by the order of a hash map; here the first name in alphabetical order wins.
    pub(super) fn select_protocol(&self) -> Option<String> {
        let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
        for member in self.members.values() {
            let names = member.protocols.iter().map(|protocol| protocol.name.as_str());
            if let Some(vote) = names.into_iter().find(|name| self.all_support(name)) {
                *votes.entry(vote).or_default() += 1;
            }
        }
        let most = votes.values().copied().max()?;
        votes.into_iter().find(|(_, count)| *count == most).map(|(name, _)| name.to_owned())
    }

    /// Adds a member. The first one becomes the leader.
    pub(super) fn add(&mut self, id: &str, protocol_type: &str, member: Member) {
        if let Some(instance) = &member.instance_id {
            self.instances.insert(instance.clone(), id.to_owned());
        }
        if self.members.is_empty() {
            self.protocol_type = Some(protocol_type.to_owned());
        }
        if self.leader.is_none() {
            self.leader = Some(id.to_owned());
        }
        self.pending.remove(id);
        self.members.insert(id.to_owned(), member);
    }

    /// Removes a member, pending or not, and answers its waiting requests.
    pub(super) fn remove(&mut self, turn: &mut Turn<'_>, id: &str) {
        if let Some(member) = self.members.remove(id) {
            if let Some(token) = member.joining {
                turn.join(token, JoinReply::refused("", Fault::UnknownMemberId));
            }
            if let Some(token) = member.syncing {
                turn.sync(token, Err(Fault::UnknownMemberId));
            }
            if let Some(instance) = &member.instance_id {
                self.instances.remove(instance);
            }
        }
        if self.leader.as_deref() == Some(id) {
            self.leader = self.members.keys().next().cloned();
        }
        self.pending.remove(id);
        self.unsynced.remove(id);
    }

    pub(super) fn leads(&self, id: &str) -> bool {
        self.leader.as_deref() == Some(id)
    }

    /// Whether all members have joined and none is pending.
    pub(super) fn all_joined(&self) -> bool {
        self.pending.is_empty() && self.members.values().all(|member| member.joining.is_some())
    }

    /// The longest rebalance timeout of all members.
    pub(super) fn rebalance_timeout(&self) -> Duration {
        self.members.values().map(|member| member.rebalance).max().unwrap_or_default()
    }

    /// Checks that the member is in the group, and that the instance id, if any, is this member's.
    pub(super) fn validate(&self, id: &str, instance: Option<&str>) -> Result<(), Fault> {
        if let Some(instance) = instance {
            let holder = self.instances.get(instance).ok_or(Fault::UnknownMemberId)?;
            if holder != id {
                return Err(Fault::FencedInstanceId);
            }
        }
        if self.members.contains_key(id) { Ok(()) } else { Err(Fault::UnknownMemberId) }
    }
}
