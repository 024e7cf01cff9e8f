//! LeaveGroup: members leave, or an operator removes them.

use super::Fault;
use super::coordinator::{Coordinator, Turn};
use super::group::{Group, State};
use tandem_facts::time::Mono;

/// A LeaveGroup request. Before version 3 it names one member.
#[derive(Debug, Clone)]
pub struct Leave {
    /// The group.
    pub group: String,
    /// The members to remove.
    pub members: Vec<Departure>,
}

/// A member to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    /// The member id; empty to remove the holder of the instance id.
    pub member_id: String,
    /// The instance id, if the member is static.
    pub instance_id: Option<String>,
}

/// The result of a removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departed {
    /// The member to remove.
    pub departure: Departure,
    /// Whether it was removed.
    pub outcome: Result<(), Fault>,
}

impl Coordinator {
    /// Removes members from a group at once, and rebalances it.
    ///
    /// # Errors
    ///
    /// The group id is empty. All other errors are reported for each member.
    pub fn handle_leave(&mut self, now: Mono, leave: &Leave) -> Result<Vec<Departed>, Fault> {
        if leave.group.is_empty() {
            return Err(Fault::InvalidGroupId);
        }
        let unknown = |departure: &Departure| Departed {
            departure: departure.clone(),
            outcome: Err(Fault::UnknownMemberId),
        };
        self.handle_timeout(now);
        if let Some(group) = self.consumers.get_mut(&leave.group) {
            return Ok(group.leave(&leave.members));
        }
        let left = self.with(now, &leave.group, |group, turn| group.leave(turn, leave));
        Ok(left.unwrap_or_else(|| leave.members.iter().map(unknown).collect()))
    }
}

impl Group {
    fn leave(&mut self, turn: &mut Turn<'_>, leave: &Leave) -> Vec<Departed> {
        let depart = |departure: &Departure| Departed {
            departure: departure.clone(),
            outcome: self.depart(turn, departure),
        };
        let departed: Vec<Departed> = leave.members.iter().map(depart).collect();
        if departed.iter().any(|one| one.outcome.is_ok()) {
            match self.state {
                State::Stable | State::CompletingRebalance => self.prepare(turn),
                State::PreparingRebalance => self.complete_if_joined(turn),
                State::Empty | State::Dead => {}
            }
        }
        departed
    }

    fn depart(&mut self, turn: &mut Turn<'_>, departure: &Departure) -> Result<(), Fault> {
        let instance = departure.instance_id.as_deref();
        let id = if departure.member_id.is_empty() {
            let holder = instance.and_then(|instance| self.instances.get(instance));
            holder.cloned().ok_or(Fault::UnknownMemberId)?
        } else {
            if !self.pending.contains_key(&departure.member_id) {
                self.validate(&departure.member_id, instance)?;
            }
            departure.member_id.clone()
        };
        self.remove(turn, &id);
        Ok(())
    }
}
