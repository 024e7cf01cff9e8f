//! What a member holds, gives up and loses.

use super::{ConsumerMember, Phase};
use crate::membership::request::{Share, TopicPartition};
use crate::membership::{GroupEvent, Refusal};
use crate::{Assignment, Membership};
use std::collections::BTreeMap;
use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;

impl ConsumerMember {
    /// Goes from what it holds towards what it was given: it gives up first.
    pub(super) fn reconcile(&mut self, now: Mono) {
        let surplus: Share = self.held.difference(&self.given).copied().collect();
        if !surplus.is_empty() {
            self.held.retain(|it| !surplus.contains(it));
            self.promise(now);
            self.turn = self.turn.next();
            let revoked = Self::numbers(&surplus);
            self.fences.retain(|partition, _| !revoked.contains(partition));
            self.releasing.extend(surplus);
            self.listen(now);
            self.events.push_back(GroupEvent::Group(Membership::Revoked(revoked)));
        }
        if !self.releasing.is_empty() {
            return;
        }
        if self.proves() && !self.missing().is_empty() {
            // It needs a fence first.
            let missing = Self::numbers(&self.missing());
            let raised = self.raised.as_ref().is_some_and(|raised| raised.keys().eq(&missing));
            let wanted = self.wanted.as_ref().is_some_and(|it| it.partitions().eq(&missing));
            if !raised && !wanted {
                self.forget_raised();
            }
            self.commit_due = now;
        } else {
            self.held.clone_from(&self.given);
            self.report(now);
        }
    }

    /// Reports its assignment where that is new.
    pub(super) fn report(&mut self, now: Mono) {
        let same = self.reported.as_ref() == Some(&(self.epoch, self.held.clone()));
        if self.acknowledged.as_ref() != Some(&self.held) {
            self.beat_due = now;
        }
        if same {
            return;
        }
        self.turn = self.turn.next();
        self.reported = Some((self.epoch, self.held.clone()));
        self.session_due = now;
        self.listen(now);
        let assignment = Assignment {
            generation: Some(self.epoch),
            member_id: Some(self.member_id.clone()),
            partitions: self.held().collect(),
        };
        self.events.push_back(GroupEvent::Group(Membership::Assigned(assignment)));
    }

    /// Its fences for what it was given are committed: it holds that from now on.
    pub(super) fn adopt(&mut self, now: Mono, fences: &BTreeMap<PartitionId, i64>) {
        let fenced = |it: &TopicPartition| fences.contains_key(&it.partition);
        let adopted: Share = self.missing().into_iter().filter(fenced).collect();
        if adopted.is_empty() || !self.releasing.is_empty() {
            return;
        }
        for it in adopted {
            if let Some(fence) = fences.get(&it.partition) {
                self.fences.insert(it.partition, *fence);
            }
            self.held.insert(it);
        }
        self.forget_raised();
        self.report(now);
    }

    /// The member has fallen out of the group: what it held may be another member's.
    pub(super) fn lose(&mut self, now: Mono) {
        let lost = self.drop_all(now);
        if !lost.is_empty() {
            self.events.push_back(GroupEvent::Group(Membership::Lost(lost)));
        }
    }

    pub(super) fn revoke_all(&mut self, now: Mono) {
        let revoked = self.drop_all(now);
        if !revoked.is_empty() {
            self.events.push_back(GroupEvent::Group(Membership::Revoked(revoked)));
        }
    }

    fn drop_all(&mut self, now: Mono) -> Vec<PartitionId> {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            self.promise(now);
        }
        self.turn = self.turn.next();
        self.given.clear();
        self.releasing.clear();
        (self.acknowledged, self.reported) = (None, None);
        self.forget_raised();
        (self.beaten, self.assured, self.committed, self.proved) = (None, None, None, None);
        self.fences.clear();
        self.listen(now);
        Self::numbers(&held)
    }

    /// Claims may outlive what it gives up now.
    fn promise(&mut self, now: Mono) {
        self.promised = self.promised.max(now + self.config.group.hold);
    }

    fn numbers(share: &Share) -> Vec<PartitionId> {
        let mut numbers: Vec<PartitionId> = share.iter().map(|it| it.partition).collect();
        numbers.dedup();
        numbers
    }

    /// Joins again, under the same id or, where it must be sure, under a new one; `gone` says that
    /// the coordinator does not know the old one any more.
    pub(super) fn rejoin(&mut self, now: Mono, at: Mono, gone: bool) {
        self.lose(now);
        (self.phase, self.epoch, self.whole) = (Phase::Joining, 0, true);
        self.due = at;
        if self.config.group.renews_id && self.config.group.instance.is_none() {
            self.rename(gone);
        }
    }

    pub(super) fn rename(&mut self, gone: bool) {
        self.names = self.names.saturating_add(1);
        let name = format!("{}-{}", self.config.id, self.names);
        let old = std::mem::replace(&mut self.member_id, name);
        if std::mem::take(&mut self.was_sent) && !gone {
            self.departures.push_back(old);
        }
        self.ghost = false;
    }

    /// Time has passed in which the coordinator may have dropped the member.
    pub(super) fn heed_session(&mut self, now: Mono) {
        if self.held.is_empty() || now < self.contact + self.config.group.session {
            return;
        }
        if self.config.group.renews_id {
            self.rejoin(now, now, false);
        } else {
            // The coordinator may still count it in, and then says so.
            self.lose(now);
            self.whole = true;
        }
    }

    /// Whether a refusal says that the group does not count the member in as it believes.
    pub(super) const fn falls_out(refusal: Refusal) -> bool {
        matches!(
            refusal,
            Refusal::FencedMemberEpoch
                | Refusal::UnknownMemberId
                | Refusal::IllegalGeneration
                | Refusal::GroupIdNotFound
        )
    }
}
