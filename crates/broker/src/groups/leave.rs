//! LeaveGroup: members go, or somebody else says that they are gone.

use super::Fault;
use super::coordinator::{Coordinator, Turn};
use super::group::{Group, State};
use tandem_facts::time::Mono;

/// A LeaveGroup request; before version 3 it names one member.
#[derive(Debug, Clone)]
pub struct Leave {
    /// The group.
    pub group: String,
    /// Who goes.
    pub members: Vec<Departure>,
}

/// Somebody who goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    /// Empty to throw out whoever holds the instance id.
    pub member_id: String,
    /// Its instance id, if it is static.
    pub instance_id: Option<String>,
}

/// What became of a departure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departed {
    /// Who was to go.
    pub who: Departure,
    /// Gone, or why not.
    pub outcome: Result<(), Fault>,
}

impl Coordinator {
    /// Takes members out of a group, at once, and rebalances it.
    ///
    /// # Errors
    ///
    /// Where the group has no name; whatever else is wrong is told of each member.
    pub fn handle_leave(&mut self, now: Mono, leave: &Leave) -> Result<Vec<Departed>, Fault> {
        if leave.group.is_empty() {
            return Err(Fault::InvalidGroupId);
        }
        let unknown =
            |who: &Departure| Departed { who: who.clone(), outcome: Err(Fault::UnknownMemberId) };
        let left = self.with(now, &leave.group, |group, turn| group.leave(turn, leave));
        Ok(left.unwrap_or_else(|| leave.members.iter().map(unknown).collect()))
    }
}

impl Group {
    fn leave(&mut self, turn: &mut Turn<'_>, leave: &Leave) -> Vec<Departed> {
        let depart =
            |who: &Departure| Departed { who: who.clone(), outcome: self.depart(turn, who) };
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

    fn depart(&mut self, turn: &mut Turn<'_>, who: &Departure) -> Result<(), Fault> {
        let instance = who.instance_id.as_deref();
        let id = if who.member_id.is_empty() {
            let holder = instance.and_then(|instance| self.instances.get(instance));
            holder.cloned().ok_or(Fault::UnknownMemberId)?
        } else {
            if !self.pending.contains_key(&who.member_id) {
                self.validate(&who.member_id, instance)?;
            }
            who.member_id.clone()
        };
        self.remove(turn, &id);
        Ok(())
    }
}
