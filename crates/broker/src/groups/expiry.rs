//! The effects of time on a group.

use std::time::Duration;

use super::coordinator::{Turn, earlier};
use super::group::{Group, State};
use tandem_facts::time::Mono;

/// How long the group waits for joins.
#[derive(Debug, Clone, Copy, Hash)]
pub(super) enum JoinTimer {
    /// The group was empty: it waits for further members.
    Initial {
        due: Mono,
        /// The length of the wait that ends at `due`.
        delay: Duration,
        /// How much longer new members may prolong it.
        remaining: Duration,
    },
    /// The group had members: those who do not join in time are removed.
    Rebalance { due: Mono },
}

/// A timer of a group. Timers that are due at the same instant fire in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Session(String),
    Pending(String),
    Join,
    Sync,
}

impl JoinTimer {
    const fn due(self) -> Mono {
        match self {
            Self::Initial { due, .. } | Self::Rebalance { due } => due,
        }
    }
}

impl Group {
    /// The next instant at which a timer is due.
    pub(super) fn next_due(&self) -> Option<Mono> {
        let session = self.members.values().filter_map(|member| member.expiry).min();
        let pending = self.pending.values().min().copied();
        let timers = earlier(self.join_timer.map(JoinTimer::due), self.sync_timer);
        earlier(earlier(session, pending), timers)
    }

    /// Fires all due timers one by one, since each may change the others.
    pub(super) fn expire(&mut self, turn: &mut Turn<'_>) {
        while self.next_due().is_some_and(|due| due <= turn.now) {
            match self.first_due() {
                Some(Due::Session(id)) => self.expire_session(turn, &id),
                Some(Due::Pending(id)) => self.expire_pending(turn, &id),
                Some(Due::Join) => self.expire_join(turn),
                Some(Due::Sync) => self.expire_sync(turn),
                None => return,
            }
        }
    }

    fn first_due(&self) -> Option<Due> {
        let sessions = self
            .members
            .iter()
            .filter_map(|(id, member)| member.expiry.map(|at| (at, Due::Session(id.clone()))));
        let pending = self.pending.iter().map(|(id, at)| (*at, Due::Pending(id.clone())));
        let join = self.join_timer.map(|timer| (timer.due(), Due::Join));
        let sync = self.sync_timer.map(|at| (at, Due::Sync));
        sessions.chain(pending).chain(join).chain(sync).min().map(|(_, due)| due)
    }

    fn expire_session(&mut self, turn: &mut Turn<'_>, id: &str) {
        let Some(member) = self.members.get_mut(id) else { return };
        member.expiry = None;
        if member.is_excused() {
            return;
        }
        self.remove(turn, id);
        match self.state {
            State::Stable | State::CompletingRebalance => self.prepare(turn),
            State::PreparingRebalance if self.all_joined() => self.complete(turn),
            State::PreparingRebalance | State::Empty | State::Dead => {}
        }
    }

    fn expire_pending(&mut self, turn: &mut Turn<'_>, id: &str) {
        self.pending.remove(id);
        if self.state == State::PreparingRebalance && self.all_joined() {
            self.complete(turn);
        }
    }

    fn expire_join(&mut self, turn: &mut Turn<'_>) {
        match self.join_timer.take() {
            Some(JoinTimer::Initial { delay, remaining, .. })
                if self.newcomer && !remaining.is_zero() =>
            {
                self.newcomer = false;
                let next = turn.settings.initial_delay.min(remaining);
                self.join_timer = Some(JoinTimer::Initial {
                    due: turn.now + next,
                    delay: next,
                    remaining: remaining.saturating_sub(delay),
                });
            }
            Some(JoinTimer::Initial { .. } | JoinTimer::Rebalance { .. }) => self.complete(turn),
            None => {}
        }
    }

    /// Removes members that joined the generation but never requested their assignment.
    fn expire_sync(&mut self, turn: &mut Turn<'_>) {
        self.sync_timer = None;
        let waiting = matches!(self.state, State::CompletingRebalance | State::Stable);
        if !waiting || self.unsynced.is_empty() {
            return;
        }
        for id in std::mem::take(&mut self.unsynced) {
            self.remove(turn, &id);
        }
        self.prepare(turn);
    }
}
