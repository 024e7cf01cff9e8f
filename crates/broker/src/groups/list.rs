//! ListGroups and DeleteGroups.

use std::fmt;

use super::Fault;
use super::consumer::ConsumerState;
use super::coordinator::Coordinator;
use super::group::State;
use tandem_facts::time::Mono;

/// An entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The group.
    pub group: String,
    /// `consumer`; empty if no member ever joined.
    pub protocol_type: String,
    /// The state of the group.
    pub state: GroupState,
}

/// The state of a group of either protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupState {
    /// The group has classic members, or none ever had joined it.
    Classic(State),
    /// The group has members of the newer protocol, or had some last.
    Consumer(ConsumerState),
}

impl GroupState {
    /// Kafka's name for the type of the group.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Classic(_) => "classic",
            Self::Consumer(_) => "consumer",
        }
    }
}

impl fmt::Display for GroupState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Classic(state) => state.fmt(f),
            Self::Consumer(state) => state.fmt(f),
        }
    }
}

impl Coordinator {
    /// All groups, by name.
    pub fn handle_list(&mut self, now: Mono) -> Vec<Listing> {
        self.handle_timeout(now);
        let line = |(name, group): (&String, &super::group::Group)| Listing {
            group: name.clone(),
            protocol_type: group.protocol_type.clone().unwrap_or_default(),
            state: GroupState::Classic(group.state),
        };
        let consumer = self.consumers.iter().map(|(name, group)| Listing {
            group: name.clone(),
            protocol_type: "consumer".to_owned(),
            state: GroupState::Consumer(group.state()),
        });
        let mut list: Vec<Listing> = self.groups.iter().map(line).chain(consumer).collect();
        list.sort_by(|one, other| one.group.cmp(&other.group));
        list
    }

    /// Deletes an empty group and its offsets.
    ///
    /// # Errors
    ///
    /// The group does not exist or has members.
    pub fn handle_delete(&mut self, now: Mono, name: &str) -> Result<(), Fault> {
        self.handle_timeout(now);
        if let Some(group) = self.consumers.get(name) {
            if !group.is_empty() {
                return Err(Fault::NonEmptyGroup);
            }
            self.consumers.remove(name);
            return Ok(());
        }
        let group = self.groups.get(name).ok_or(Fault::GroupIdNotFound)?;
        if group.state != State::Empty {
            return Err(Fault::NonEmptyGroup);
        }
        self.groups.remove(name);
        Ok(())
    }
}
