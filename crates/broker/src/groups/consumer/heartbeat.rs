//! ConsumerGroupHeartbeat: a member joins, goes on, and leaves.

use std::collections::BTreeSet;
use std::time::Duration;

use super::assignor::Assignor;
use super::catalog::{Catalog, Partition};
use super::group::ConsumerGroup;
use super::member::{AWAY, ConsumerMember, Progress};
use super::pattern::Pattern;
use super::reconcile::Goal;
use super::settings::Terms;
use crate::groups::Fault;
use crate::groups::coordinator::{Coordinator, earlier};
use crate::groups::group::State;
use tandem_facts::time::Mono;

/// The epoch with which a member leaves for good.
const LEAVES: i32 = -1;

/// A ConsumerGroupHeartbeat request. What is none has not changed since the member's last one.
#[derive(Debug, Clone, Default)]
pub struct ConsumerHeartbeat {
    /// The group.
    pub group: String,
    /// The member id, which the member itself chooses.
    pub member_id: String,
    /// The member's epoch; 0 to join, -1 to leave, -2 to leave for a while with an instance id.
    pub epoch: i32,
    /// The instance id, which makes the member static.
    pub instance_id: Option<String>,
    /// The rack of the member.
    pub rack_id: Option<String>,
    /// The client id.
    pub client_id: String,
    /// The client's host.
    pub client_host: String,
    /// How long the member may take to give up partitions.
    pub rebalance: Option<Duration>,
    /// The topics that the member subscribes to.
    pub topics: Option<Vec<String>>,
    /// A regular expression for further topics; an empty one is none.
    pub regex: Option<String>,
    /// The assignor that the member wants.
    pub assignor: Option<String>,
    /// The partitions that the member holds.
    pub owned: Option<Vec<Partition>>,
    /// The id of a member that does not choose one, as it must from version 1 on.
    pub spare_id: Option<String>,
}

/// The reply to a member.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConsumerReply {
    /// The member id.
    pub member_id: String,
    /// The epoch to use from now on.
    pub epoch: i32,
    /// How soon the next heartbeat is expected.
    pub interval: Duration,
    /// The partitions that the member may hold; none if that has not changed.
    pub assignment: Option<BTreeSet<Partition>>,
}

impl Coordinator {
    /// Handles a heartbeat of a member.
    ///
    /// # Errors
    ///
    /// The member is not in the group, or not at that epoch; or the request is not valid.
    pub fn handle_consumer_heartbeat(
        &mut self,
        now: Mono,
        beat: &ConsumerHeartbeat,
    ) -> Result<ConsumerReply, Fault> {
        self.handle_timeout(now);
        self.check(beat)?;
        if beat.epoch < 0 {
            return self.leave_consumer(beat);
        }
        if let Some(group) = self.groups.get(&beat.group)
            && (beat.epoch != 0 || group.state != State::Empty)
        {
            return Err(Fault::GroupIdNotFound);
        }
        if !self.consumers.contains_key(&beat.group) {
            if beat.epoch != 0 {
                return Err(Fault::GroupIdNotFound);
            }
            self.create_consumer(&beat.group)?;
        }
        let (terms, members_max) = (self.terms(&beat.group), self.settings().members_max);
        let Self { consumers, catalog, alarm, .. } = self;
        let group = consumers.get_mut(&beat.group).ok_or(Fault::GroupIdNotFound)?;
        let known = group.members.contains_key(&beat.member_id);
        if !known && group.members.len() >= members_max {
            return Err(Fault::GroupMaxSizeReached);
        }
        let reply = group.heartbeat(now, catalog, terms, beat);
        *alarm = earlier(*alarm, group.next_due());
        reply
    }

    /// Checks the request itself, before a group is looked up.
    fn check(&self, beat: &ConsumerHeartbeat) -> Result<(), Fault> {
        let blank = |text: &str| text.trim().is_empty();
        let names = [Some(&beat.group), beat.instance_id.as_ref(), beat.rack_id.as_ref()];
        let nameless = blank(&beat.member_id)
            && (beat.spare_id.is_none() || beat.epoch > 0 || beat.epoch == LEAVES);
        let nothing = beat.topics.is_none() && beat.regex.is_none();
        let half = match beat.epoch {
            0 => {
                beat.rebalance.is_none()
                    || nothing
                    || beat.owned.as_ref().is_none_or(|o| !o.is_empty())
            }
            AWAY => beat.instance_id.is_none(),
            epoch => epoch < AWAY,
        };
        if names.into_iter().flatten().any(|name| blank(name)) || nameless || half {
            return Err(Fault::InvalidRequest);
        }
        if beat.assignor.as_deref().is_some_and(|name| Assignor::named(name).is_none()) {
            return Err(Fault::UnsupportedAssignor);
        }
        if beat.regex.as_deref().is_some_and(|regex| Pattern::new(regex).is_none()) {
            return Err(Fault::InvalidRegularExpression);
        }
        let texts = beat.topics.iter().flatten().chain(names.into_iter().flatten());
        let texts = texts.chain(&beat.regex);
        let bytes = texts.map(String::len).sum::<usize>() + beat.member_id.len();
        if bytes > self.settings().metadata_bytes_max {
            return Err(Fault::UnknownServerError);
        }
        Ok(())
    }

    /// Creates the group, in the place of an empty classic one, whose offsets it keeps.
    fn create_consumer(&mut self, name: &str) -> Result<(), Fault> {
        let group = match self.groups.remove(name) {
            Some(classic) => ConsumerGroup::with_offsets(classic.offsets),
            None if self.is_full() => return Err(Fault::CoordinatorNotAvailable),
            None => ConsumerGroup::default(),
        };
        self.consumers.insert(name.to_owned(), group);
        Ok(())
    }
}

impl ConsumerGroup {
    fn heartbeat(
        &mut self,
        now: Mono,
        catalog: &Catalog,
        terms: Terms,
        beat: &ConsumerHeartbeat,
    ) -> Result<ConsumerReply, Fault> {
        let spare = beat.spare_id.as_ref().filter(|_| beat.member_id.is_empty());
        let id = spare.unwrap_or(&beat.member_id).clone();
        let mut member = self.admit(&id, beat)?;
        // The topics may have changed since the last heartbeat of any member.
        let matched = self.resolve(catalog);
        let changed = member.update(beat);
        let before = member.clone();
        self.members.insert(id.clone(), member);
        self.regexes_changed |= changed.regex;
        let resolved = changed.regex && self.is_resolved(&id);
        self.refresh(catalog, matched || changed.topics || resolved);
        self.aim(catalog);
        self.reconcile(now, catalog, &id, beat.owned.as_deref());
        // As in Kafka, the next heartbeat assigns what a new expression adds.
        if self.resolve(catalog) {
            self.raise();
        }
        let Some(member) = self.members.get_mut(&id) else { return Err(Fault::UnknownMemberId) };
        member.expiry = Some(now + terms.session);
        let whole = beat.rebalance.is_some()
            && (beat.topics.is_some() || beat.regex.is_some())
            && beat.owned.is_some();
        let moved = !member.assigned.keys().eq(before.assigned.keys());
        let assignment =
            (beat.epoch == 0 || whole || moved).then(|| member.assigned.keys().copied().collect());
        let epoch = member.epoch;
        Ok(ConsumerReply { member_id: id, epoch, interval: terms.heartbeat, assignment })
    }

    /// The member of this heartbeat: known, new, or the successor of a static one that is away.
    fn admit(&mut self, id: &str, beat: &ConsumerHeartbeat) -> Result<ConsumerMember, Fault> {
        let joins = beat.epoch == 0;
        let known = self.members.get(id);
        let Some(instance) = &beat.instance_id else {
            return match known {
                Some(member) => member.at_epoch(beat).cloned(),
                None if joins => Ok(ConsumerMember::new()),
                None => Err(Fault::UnknownMemberId),
            };
        };
        let holder = self.instances.get(instance).cloned();
        match holder {
            None if joins => {
                self.instances.insert(instance.clone(), id.to_owned());
                Ok(known.cloned().unwrap_or_else(ConsumerMember::new))
            }
            None => Err(Fault::UnknownMemberId),
            Some(old) if joins => self.succeed(&old, id, instance),
            Some(old) if old != id => Err(Fault::FencedInstanceId),
            Some(_) => known.ok_or(Fault::UnknownMemberId)?.at_epoch(beat).cloned(),
        }
    }

    /// The successor of a static member gets what that one held, if it has left for a while.
    fn succeed(&mut self, old: &str, id: &str, instance: &str) -> Result<ConsumerMember, Fault> {
        if self.members.get(old).is_none_or(|member| member.epoch != AWAY) {
            return Err(Fault::UnreleasedInstanceId);
        }
        let Some(member) = self.members.remove(old) else { return Err(Fault::UnknownMemberId) };
        let share = self.target.remove(old).unwrap_or_default();
        self.target.insert(id.to_owned(), share);
        self.instances.insert(instance.to_owned(), id.to_owned());
        Ok(ConsumerMember { epoch: 0, previous: 0, revoke_by: None, ..member })
    }

    fn reconcile(&mut self, now: Mono, catalog: &Catalog, id: &str, owned: Option<&[Partition]>) {
        let epoch = self.assignment_epoch;
        let Some(member) = self.members.get(id) else { return };
        let subscribed = catalog.ids(&self.subscription(member));
        if member.is_reconciled(epoch) && member.holds_only(&subscribed) {
            return;
        }
        let taken = self.taken(id);
        let Some(member) = self.members.get_mut(id) else { return };
        let none = BTreeSet::new();
        let target = self.target.get(id).unwrap_or(&none);
        let goal = Goal { epoch, target, subscribed: &subscribed, owned, taken: &taken };
        let before = member.clone();
        member.reconcile(&goal);
        if *member != before {
            let revokes = member.progress == Progress::UnrevokedPartitions;
            member.revoke_by = revokes.then(|| now + member.rebalance);
        }
    }
}

impl ConsumerMember {
    /// The member, if the heartbeat comes from its epoch. One that missed the last answer may come
    /// from the epoch before, as long as it holds nothing but what is its own; and every member may
    /// join again.
    fn at_epoch(&self, beat: &ConsumerHeartbeat) -> Result<&Self, Fault> {
        let own = |owned: &Vec<Partition>| owned.iter().all(|at| self.assigned.contains_key(at));
        let missed = beat.epoch == self.previous && beat.owned.as_ref().is_some_and(own);
        if beat.epoch == 0 || beat.epoch == self.epoch || (beat.epoch < self.epoch && missed) {
            Ok(self)
        } else {
            Err(Fault::FencedMemberEpoch)
        }
    }
}
