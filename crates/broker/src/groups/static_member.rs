//! A static member returns under a new id (KIP-345). Its predecessor is fenced; the other members
//! are not disturbed if nothing changes for them.

use super::coordinator::{Token, Turn};
use super::group::{Group, State};
use super::{Fault, Join, JoinReply, Joined};

impl Group {
    pub(super) fn replace(
        &mut self,
        turn: &mut Turn<'_>,
        token: Token,
        join: &Join,
        old: &str,
        id: &str,
    ) {
        let leader_before = self.leader.clone().unwrap_or_default();
        let Some(mut member) = self.members.remove(old) else { return };
        if let Some(parked) = member.joining.take() {
            turn.join(parked, JoinReply::refused(old, Fault::FencedInstanceId));
        }
        if let Some(parked) = member.syncing.take() {
            turn.sync(parked, Err(Fault::FencedInstanceId));
        }
        member.new = false;
        // With the predecessor's session timeout, until the successor's join is answered.
        member.renew(turn.now);
        if let Some(instance) = &member.instance_id {
            self.instances.insert(instance.clone(), id.to_owned());
        }
        self.members.insert(id.to_owned(), member);
        if self.leads(old) {
            self.leader = Some(id.to_owned());
        }
        self.update(turn, token, join, id);
        match self.state {
            State::Stable if self.protocol == self.select_protocol() => {
                self.welcome_back(turn, join, id, &leader_before);
            }
            State::Stable => self.rebalance_or_complete(turn),
            // The leader may be computing with the old id, so that its assignment would lack the
            // new one.
            State::CompletingRebalance => self.prepare(turn),
            State::PreparingRebalance | State::Empty | State::Dead => self.complete_if_joined(turn),
        }
    }

    /// Answers at once: the generation and the assignment stay.
    fn welcome_back(&mut self, turn: &mut Turn<'_>, join: &Join, id: &str, leader_before: &str) {
        let mut reply = self.joined(id);
        if let Ok(Joined { leader, skip_assignment, members, .. }) = &mut reply.outcome {
            if join.can_skip_assignment {
                *skip_assignment = self.leader.as_deref() == Some(id);
            } else {
                // An older client that reads another member's id here acts as a follower.
                leader_before.clone_into(leader);
                members.clear();
            }
        }
        let parked = self.members.get_mut(id).and_then(|member| member.joining.take());
        if let Some(token) = parked {
            turn.join(token, reply);
        }
    }
}
