//! From one generation to the next: all members join, then the leader assigns the partitions.

use std::time::Duration;

use bytes::Bytes;

use super::Fault;
use super::coordinator::Turn;
use super::expiry::JoinTimer;
use super::group::{Group, State};
use tandem_facts::time::Mono;

impl Group {
    pub(super) fn rebalance_or_complete(&mut self, turn: &mut Turn<'_>) {
        match self.state {
            State::Empty | State::CompletingRebalance | State::Stable => self.prepare(turn),
            State::PreparingRebalance | State::Dead => self.complete_if_joined(turn),
        }
    }

    /// Starts a rebalance: all members must join again.
    pub(super) fn prepare(&mut self, turn: &mut Turn<'_>) {
        if self.state == State::CompletingRebalance {
            for member in self.members.values_mut() {
                member.assignment = Bytes::new();
            }
            self.propagate(turn, Some(Fault::RebalanceInProgress));
        }
        self.unsynced.clear();
        self.sync_timer = None;
        let initial = self.state == State::Empty;
        if initial {
            let delay = turn.settings.initial_delay;
            let remaining = self.rebalance_timeout().saturating_sub(delay);
            self.join_timer = Some(JoinTimer::Initial { due: turn.now + delay, delay, remaining });
        }
        self.go(State::PreparingRebalance);
        if initial {
            return;
        }
        if self.all_joined() {
            self.complete(turn);
        } else {
            self.wait_for_joins(turn.now);
        }
    }

    /// A group that was empty waits for the whole initial delay, even if all members have joined.
    pub(super) fn complete_if_joined(&mut self, turn: &mut Turn<'_>) {
        if self.state == State::PreparingRebalance
            && self.previous != State::Empty
            && self.all_joined()
        {
            self.complete(turn);
        }
    }

    /// Starts the next generation with the members that have joined. Removes the others, unless
    /// they are static.
    pub(super) fn complete(&mut self, turn: &mut Turn<'_>) {
        self.join_timer = None;
        let late = |member: &super::member::Member| {
            member.joining.is_none() && member.instance_id.is_none()
        };
        let out: Vec<String> =
            self.members.iter().filter(|(_, m)| late(m)).map(|(id, _)| id.clone()).collect();
        for id in out {
            self.remove(turn, &id);
        }
        if !self.elect_leader() && !self.members.is_empty() {
            // Only static members are left, and none has joined: wait until their sessions end.
            self.wait_for_joins(turn.now);
            return;
        }
        self.generation = self.generation.saturating_add(1);
        self.unsynced.clear();
        if self.members.is_empty() {
            self.protocol = None;
            self.go(State::Empty);
            return;
        }
        self.protocol = self.select_protocol();
        self.go(State::CompletingRebalance);
        let ids: Vec<String> = self.members.keys().cloned().collect();
        for id in ids {
            let reply = self.joined(&id);
            let Some(member) = self.members.get_mut(&id) else { continue };
            if let Some(token) = member.joining.take() {
                turn.join(token, reply);
            }
            member.renew(turn.now);
            member.new = false;
            self.unsynced.insert(id);
        }
        self.sync_timer = Some(due(turn.now, self.rebalance_timeout()));
    }

    fn wait_for_joins(&mut self, now: Mono) {
        self.join_timer = Some(JoinTimer::Rebalance { due: due(now, self.rebalance_timeout()) });
    }

    /// Replaces a leader that has not joined by a member that has.
    fn elect_leader(&mut self) -> bool {
        let Some(leader) = &self.leader else { return false };
        if self.members.get(leader).is_some_and(|member| member.joining.is_some()) {
            return true;
        }
        let joined = self.members.iter().find(|(_, member)| member.joining.is_some());
        let Some((id, _)) = joined else { return false };
        self.leader = Some(id.clone());
        true
    }

    /// Answers every waiting sync, and restarts sessions that expired meanwhile.
    pub(super) fn propagate(&mut self, turn: &mut Turn<'_>, fault: Option<Fault>) {
        let ids: Vec<String> = self.members.keys().cloned().collect();
        for id in ids {
            let reply = fault.map_or_else(|| Ok(self.synced(&id)), Err);
            let Some(member) = self.members.get_mut(&id) else { continue };
            if let Some(token) = member.syncing.take() {
                turn.sync(token, reply);
                member.renew(turn.now);
            }
        }
    }
}

/// A timer of zero that restarts itself would never stop firing.
fn due(now: Mono, span: Duration) -> Mono {
    now + span.max(Duration::from_millis(1))
}
