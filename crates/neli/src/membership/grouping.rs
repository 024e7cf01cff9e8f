//! In and out of generations: what a member holds, gives back and loses.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Assignor, Fences, GroupEvent, GroupMember, Joined, Partitions, Phase, Previous, StickyData,
    Subscription, decode_assignment, encode_assignment, heeds_unreachable,
};
use crate::{Assignment, Membership};
use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;

impl GroupMember {
    /// Joins again under the id that it has, if any; an eager member gives everything back first.
    pub(super) fn rejoin(&mut self, now: Mono, at: Mono) {
        if !self.config.assignors.are_cooperative() {
            self.revoke_all(now);
        }
        self.abandon_waiting(now);
        self.phase = Phase::Joining;
        self.unprove();
        self.due = at;
    }

    /// The member has fallen out of its generation: what it held may be another member's.
    pub(super) fn lose(&mut self, now: Mono) {
        self.generation = None;
        self.unprove();
        let lost: Vec<PartitionId> = std::mem::take(&mut self.held).into_iter().collect();
        self.stop_listening(now);
        if !lost.is_empty() {
            self.promised = now + self.config.hold;
            self.events.push_back(GroupEvent::Group(Membership::Lost(lost)));
        }
    }

    /// Joins again as a new member.
    pub(super) fn restart(&mut self, now: Mono, at: Mono) {
        self.lose(now);
        self.member_id.clear();
        self.confirmed = false;
        self.abandon_waiting(now);
        self.rejoin(now, at);
    }

    pub(super) fn unprove(&mut self) {
        (self.beaten, self.committed) = (None, None);
        self.fences = Fences::Unread;
    }

    pub(super) fn revoke_all(&mut self, now: Mono) {
        let held: Vec<PartitionId> = std::mem::take(&mut self.held).into_iter().collect();
        self.stop_listening(now);
        self.revoke(now, held);
    }

    fn revoke(&mut self, now: Mono, partitions: Vec<PartitionId>) {
        if !partitions.is_empty() {
            self.promised = now + self.config.hold;
            self.events.push_back(GroupEvent::Group(Membership::Revoked(partitions)));
        }
    }

    /// The ledger was set back ([`Neli::handle_offset`](crate::Neli::handle_offset)): the member
    /// gives back what it holds, and joins again.
    pub fn handle_set_back(&mut self, now: Mono) {
        self.handle_timeout(now);
        if self.is_stable() {
            self.revoke_all(now);
            self.rejoin(now, now);
        }
    }

    /// Programs have been able to see since `now` that their claims end sooner: a promise that one
    /// was given before then has passed after [`GroupConfig::hold`](super::GroupConfig::hold).
    pub fn handle_curtailed(&mut self, now: Mono) {
        self.promised = self.promised.max(now + self.config.hold);
    }

    /// The subscription that the member sends as it joins.
    pub(super) fn protocols(&self, now: Mono) -> Vec<(&'static str, Vec<u8>)> {
        let (unreachable, turn) = self.unreachable(now);
        let said = StickyData { unreachable, turn, ..StickyData::default() };
        let offer = |assignor: Assignor| {
            let subscription = self.subscription(assignor, said.clone());
            (assignor.name(), subscription.encode())
        };
        self.config.assignors.iter().map(offer).collect()
    }

    fn subscription(&self, assignor: Assignor, said: StickyData) -> Subscription {
        let user_data = match (assignor, &self.previous) {
            (Assignor::Sticky | Assignor::CooperativeSticky, Some(previous)) => {
                let generation = Some(previous.generation);
                let previous = self.of_topic(&previous.partitions);
                StickyData { previous, generation, ..said }.encode()
            }
            (Assignor::Range | Assignor::RoundRobin, _) | (_, None)
                if said.unreachable.is_empty() =>
            {
                Vec::new()
            }
            (Assignor::Range | Assignor::RoundRobin, _) | (_, None) => said.encode(),
        };
        // A leader ignores the generation of a member that holds nothing.
        let generation = if self.held.is_empty() { None } else { self.generation };
        Subscription {
            topics: BTreeSet::from([self.config.topic.to_string()]),
            user_data,
            owned: self.of_topic(&self.held),
            generation,
        }
    }

    pub(super) fn of_topic(&self, partitions: &BTreeSet<PartitionId>) -> Partitions {
        if partitions.is_empty() {
            return Partitions::new();
        }
        Partitions::from([(self.config.topic.to_string(), partitions.clone())])
    }

    /// The shares of all members, encoded; none where another member leads.
    pub(super) fn share_out(&self, protocol: Assignor, joined: Joined) -> Vec<(String, Vec<u8>)> {
        if joined.leader != joined.member_id || joined.skip_assignment {
            return Vec::new();
        }
        // An unreadable subscription gets no partitions.
        let candidates = joined.members.into_iter().map(|member| {
            let subscription = Subscription::decode(&member.metadata).unwrap_or_default();
            protocol.candidate(member.member_id, member.instance_id, subscription)
        });
        let candidates: Vec<_> = candidates.collect();
        let topics = BTreeMap::from([(self.config.topic.to_string(), self.config.width.get())]);
        let shares = protocol.assign(&topics, &candidates);
        shares.into_iter().map(|(id, share)| (id, encode_assignment(&share))).collect()
    }

    /// The leader has given the member its share; false where that cannot be read.
    pub(super) fn settle(&mut self, now: Mono, generation: i32, share: &[u8]) -> bool {
        let heeded = heeds_unreachable(share);
        let Some(mut share) = decode_assignment(share) else { return false };
        let width = self.config.width.get();
        let mut given = share.remove(self.config.topic.as_str()).unwrap_or_default();
        given.retain(|partition| partition.0 < width);
        let taken: Vec<PartitionId> = self.held.difference(&given).copied().collect();
        let gave_back = !taken.is_empty();
        self.revoke(now, taken);
        self.held.clone_from(&given);
        self.listen(now, heeded);
        let assignment = Assignment {
            generation: Some(generation),
            member_id: Some(self.member_id.clone()),
            partitions: given.iter().copied().collect(),
        };
        self.events.push_back(GroupEvent::Group(Membership::Assigned(assignment)));
        self.previous = Some(Previous { generation, partitions: given });
        self.phase = Phase::Stable { since: now };
        self.fences = Fences::Unread;
        self.learn_due = self.config.learns.map(|_| now);
        self.hurry(now);
        if gave_back {
            // Cooperative: what was given back can be given away in the next generation.
            self.rejoin(now, now);
        }
        true
    }
}
