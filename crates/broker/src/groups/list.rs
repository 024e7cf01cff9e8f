//! ListGroups and DeleteGroups.

use super::Fault;
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
    pub state: State,
}

impl Coordinator {
    /// All groups, by name.
    pub fn handle_list(&mut self, now: Mono) -> Vec<Listing> {
        self.handle_timeout(now);
        let line = |(name, group): (&String, &super::group::Group)| Listing {
            group: name.clone(),
            protocol_type: group.protocol_type.clone().unwrap_or_default(),
            state: group.state,
        };
        self.groups.iter().map(line).collect()
    }

    /// Deletes an empty group and its offsets.
    ///
    /// # Errors
    ///
    /// The group does not exist or has members.
    pub fn handle_delete(&mut self, now: Mono, name: &str) -> Result<(), Fault> {
        self.handle_timeout(now);
        let group = self.groups.get(name).ok_or(Fault::GroupIdNotFound)?;
        if group.state != State::Empty {
            return Err(Fault::NonEmptyGroup);
        }
        self.groups.remove(name);
        Ok(())
    }
}
