//! OffsetCommit: stores the offsets of a member, or of a consumer without a group.

use std::collections::BTreeMap;

use super::Fault;
use super::coordinator::{Coordinator, CoordinatorSettings, Turn};
use super::group::{Group, State};
use tandem_facts::time::Mono;

/// A partition of a topic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
}

/// The position of a consumer in a partition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CommittedOffset {
    /// The offset of the next message to read.
    pub offset: i64,
    /// The leader epoch of the last message read, or -1.
    pub leader_epoch: i32,
    /// Any text that the consumer wants to store.
    pub metadata: String,
}

/// One offset of a commit.
pub type Position = (TopicPartition, CommittedOffset);

/// An OffsetCommit request.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The group.
    pub group: String,
    /// The committing member; empty for a consumer without a group.
    pub member_id: String,
    /// The member's instance id, if it is static.
    pub instance_id: Option<String>,
    /// The generation that the member joined, or its epoch; -1 for a consumer without a group.
    pub generation: i32,
    /// Whether the client supports the error GROUP_ID_NOT_FOUND, as it does from version 9 on.
    pub knows_group_id_not_found: bool,
    /// The offsets to commit.
    pub positions: Vec<Position>,
}

impl Coordinator {
    /// Stores the offsets and renews the member's session. Returns one result per position, in
    /// order.
    ///
    /// # Errors
    ///
    /// The whole commit is refused. A success proves membership at best, never ownership of the
    /// partitions.
    pub fn handle_commit(
        &mut self,
        now: Mono,
        commit: &Commit,
    ) -> Result<Vec<Result<(), Fault>>, Fault> {
        self.handle_timeout(now);
        if self.consumers.contains_key(&commit.group) {
            let Self { consumers, catalog, settings, .. } = self;
            let group = consumers.get_mut(&commit.group).ok_or(Fault::GroupIdNotFound)?;
            return group.commit(settings, catalog, commit);
        }
        if !self.groups.contains_key(&commit.group) {
            match (commit.generation < 0, commit.knows_group_id_not_found) {
                (true, _) => self.create(&commit.group)?,
                (false, true) => return Err(Fault::GroupIdNotFound),
                (false, false) => return Err(Fault::IllegalGeneration),
            }
        }
        self.with(now, &commit.group, |group, turn| group.commit(turn, commit))
            .unwrap_or(Err(Fault::GroupIdNotFound))
    }
}

impl Group {
    fn commit(
        &mut self,
        turn: &Turn<'_>,
        commit: &Commit,
    ) -> Result<Vec<Result<(), Fault>>, Fault> {
        self.validate_commit(commit)?;
        if matches!(self.state, State::Stable | State::PreparingRebalance)
            && let Some(member) = self.members.get_mut(&commit.member_id)
        {
            member.renew(turn.now);
        }
        let each = commit.positions.iter();
        Ok(each.map(|position| store(&mut self.offsets, turn.settings, position)).collect())
    }

    fn validate_commit(&self, commit: &Commit) -> Result<(), Fault> {
        // A consumer that assigns its partitions itself.
        if commit.generation < 0 && self.state == State::Empty {
            return Ok(());
        }
        if commit.generation < 0 && commit.member_id.is_empty() && commit.instance_id.is_none() {
            return Err(Fault::UnknownMemberId);
        }
        self.validate(&commit.member_id, commit.instance_id.as_deref())?;
        if commit.generation != self.generation {
            return Err(Fault::IllegalGeneration);
        }
        if self.state == State::CompletingRebalance {
            return Err(Fault::RebalanceInProgress);
        }
        Ok(())
    }
}

/// Stores one position, if it is within the limits.
pub(super) fn store(
    offsets: &mut BTreeMap<TopicPartition, CommittedOffset>,
    settings: &CoordinatorSettings,
    (at, offset): &Position,
) -> Result<(), Fault> {
    if offset.metadata.len() > settings.offset_metadata_bytes_max {
        return Err(Fault::OffsetMetadataTooLarge);
    }
    if offsets.len() >= settings.offsets_max && !offsets.contains_key(at) {
        return Err(Fault::UnknownServerError);
    }
    offsets.insert(at.clone(), offset.clone());
    Ok(())
}
