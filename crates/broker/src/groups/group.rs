//! One group: its state, its members, and who of them leads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use super::commit::{CommittedOffset, TopicPartition};
use super::coordinator::Turn;
use super::expiry::JoinTimer;
use super::member::{Member, Protocol};
use super::{Fault, JoinReply};
use tandem_facts::time::Mono;

/// Where a group stands, by Kafka's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// Nobody is in it; it may hold offsets.
    #[default]
    Empty,
    /// Waits for its members to join.
    PreparingRebalance,
    /// Waits for the leader's assignment.
    CompletingRebalance,
    /// Everybody may have an assignment.
    Stable,
    /// Does not exist.
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

#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) state: State,
    pub(super) previous: State,
    pub(super) protocol_type: Option<String>,
    pub(super) protocol: Option<String>,
    pub(super) generation: i32,
    pub(super) leader: Option<String>,
    pub(super) members: BTreeMap<String, Member>,
    /// Instance id to member id.
    pub(super) instances: BTreeMap<String, String>,
    /// Ids that were given out and not yet joined with, and when they are forgotten.
    pub(super) pending: BTreeMap<String, Mono>,
    /// Who has not yet asked for its assignment in this generation.
    pub(super) unsynced: BTreeSet<String>,
    /// Whether somebody joined during the initial delay, which prolongs it.
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

    /// Whether a member with these protocols fits in.
    pub(super) fn supports(&self, protocol_type: &str, protocols: &[Protocol]) -> bool {
        if self.state == State::Empty {
            return !protocol_type.is_empty() && !protocols.is_empty();
        }
        self.protocol_type.as_deref() == Some(protocol_type)
            && protocols.iter().any(|protocol| self.everybody_supports(&protocol.name))
    }

    fn everybody_supports(&self, name: &str) -> bool {
        self.members.values().all(|member| member.supports(name))
    }

    /// The protocol that most members prefer among those that all support. Kafka leaves ties to
    /// the order of a hash map; here the first name in the alphabet wins.
    pub(super) fn select_protocol(&self) -> Option<String> {
        let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
        for member in self.members.values() {
            let names = member.protocols.iter().map(|protocol| protocol.name.as_str());
            if let Some(vote) = names.into_iter().find(|name| self.everybody_supports(name)) {
                *votes.entry(vote).or_default() += 1;
            }
        }
        let most = votes.values().copied().max()?;
        votes.into_iter().find(|(_, count)| *count == most).map(|(name, _)| name.to_owned())
    }

    /// Takes in a member; the first to come leads.
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

    /// Forgets a member, pending or not, and answers whatever it waited for.
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

    /// Whether nobody is left to wait for.
    pub(super) fn all_joined(&self) -> bool {
        self.pending.is_empty() && self.members.values().all(|member| member.joining.is_some())
    }

    /// The longest that any member asks to be waited for.
    pub(super) fn rebalance_timeout(&self) -> Duration {
        self.members.values().map(|member| member.rebalance).max().unwrap_or_default()
    }

    /// The instance id, if any, must be this member's; the member must be in the group.
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
