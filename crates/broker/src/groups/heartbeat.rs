//! Heartbeat: renews a member's session and reports whether it must join again.

use super::Fault;
use super::coordinator::{Coordinator, Turn};
use super::group::{Group, State};
use tandem_facts::time::Mono;

/// A Heartbeat request.
#[derive(Debug, Clone)]
pub struct Heartbeat {
    /// The group.
    pub group: String,
    /// The member.
    pub member_id: String,
    /// The member's instance id, if it is static.
    pub instance_id: Option<String>,
    /// The generation that the member joined.
    pub generation: i32,
}

impl Coordinator {
    /// Renews the member's session.
    ///
    /// # Errors
    ///
    /// The member is not in the group or not in its generation. With
    /// [`Fault::RebalanceInProgress`], which also renews the session, the member must join again.
    pub fn handle_heartbeat(&mut self, now: Mono, beat: &Heartbeat) -> Result<(), Fault> {
        if beat.group.is_empty() {
            return Err(Fault::InvalidGroupId);
        }
        self.with(now, &beat.group, |group, turn| group.heartbeat(turn, beat))
            .unwrap_or(Err(Fault::UnknownMemberId))
    }
}

impl Group {
    fn heartbeat(&mut self, turn: &Turn<'_>, beat: &Heartbeat) -> Result<(), Fault> {
        self.validate(&beat.member_id, beat.instance_id.as_deref())?;
        if beat.generation != self.generation {
            return Err(Fault::IllegalGeneration);
        }
        if let Some(member) = self.members.get_mut(&beat.member_id) {
            member.renew(turn.now);
        }
        match self.state {
            State::PreparingRebalance => Err(Fault::RebalanceInProgress),
            State::CompletingRebalance | State::Stable => Ok(()),
            State::Empty | State::Dead => Err(Fault::UnknownMemberId),
        }
    }
}
