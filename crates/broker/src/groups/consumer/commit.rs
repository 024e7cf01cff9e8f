//! OffsetCommit and OffsetFetch of members: both name the member's epoch.

use super::catalog::Catalog;
use super::group::ConsumerGroup;
use super::member::ConsumerMember;
use crate::groups::Fault;
use crate::groups::commit::{Commit, Position, store};
use crate::groups::coordinator::{Coordinator, CoordinatorSettings};
use tandem_facts::time::Mono;

impl ConsumerGroup {
    pub(in crate::groups) fn commit(
        &mut self,
        settings: &CoordinatorSettings,
        catalog: &Catalog,
        commit: &Commit,
    ) -> Result<Vec<Result<(), Fault>>, Fault> {
        self.validate_commit(catalog, commit)?;
        let each = commit.positions.iter();
        Ok(each.map(|position| store(&mut self.offsets, settings, position)).collect())
    }

    fn validate_commit(&self, catalog: &Catalog, commit: &Commit) -> Result<(), Fault> {
        // A consumer that assigns its partitions itself, or an operator.
        if commit.generation < 0 && self.members.is_empty() {
            return Ok(());
        }
        let member = self.members.get(&commit.member_id).ok_or(Fault::UnknownMemberId)?;
        // Only from version 9 on the field is an epoch.
        if !commit.knows_group_id_not_found {
            return Err(Fault::UnsupportedVersion);
        }
        let current = |at: &Position| member.may_commit(catalog, at, commit.generation);
        if commit.generation == member.epoch
            || (commit.generation < member.epoch && commit.positions.iter().all(current))
        {
            Ok(())
        } else {
            Err(Fault::StaleMemberEpoch)
        }
    }

    fn validate_fetch(&self, member_id: &str, epoch: i32) -> Result<(), Fault> {
        let member = self.members.get(member_id).ok_or(Fault::UnknownMemberId)?;
        if epoch == member.epoch { Ok(()) } else { Err(Fault::StaleMemberEpoch) }
    }
}

impl ConsumerMember {
    /// A member that has not learnt its new epoch yet may commit for what it already held in the
    /// old one (KIP-1251).
    fn may_commit(&self, catalog: &Catalog, (at, _): &Position, epoch: i32) -> bool {
        let topic = catalog.id(&at.topic);
        let since = topic.and_then(|topic| self.held_since(topic, at.partition));
        since.is_some_and(|since| since <= epoch)
    }
}

impl Coordinator {
    /// Checks that a member may read the offsets of its group. Others may.
    ///
    /// # Errors
    ///
    /// A member that the group does not have, or not in that epoch.
    pub fn handle_check_fetch(
        &mut self,
        now: Mono,
        group: &str,
        member_id: Option<&str>,
        epoch: i32,
    ) -> Result<(), Fault> {
        self.handle_timeout(now);
        match self.consumers.get(group) {
            Some(group) if member_id.is_some() || epoch >= 0 => {
                group.validate_fetch(member_id.unwrap_or_default(), epoch)
            }
            Some(_) | None => Ok(()),
        }
    }
}
