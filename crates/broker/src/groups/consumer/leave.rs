//! Members leave: by a heartbeat, or by LeaveGroup, which operators send.

use std::time::Duration;

use super::group::ConsumerGroup;
use super::heartbeat::{ConsumerHeartbeat, ConsumerReply};
use super::member::AWAY;
use crate::groups::Fault;
use crate::groups::coordinator::Coordinator;
use crate::groups::leave::{Departed, Departure};

impl Coordinator {
    pub(super) fn leave_consumer(
        &mut self,
        beat: &ConsumerHeartbeat,
    ) -> Result<ConsumerReply, Fault> {
        let group = self.consumers.get_mut(&beat.group).ok_or(Fault::GroupIdNotFound)?;
        let id = beat.member_id.as_str();
        group.find(id, beat.instance_id.as_deref())?;
        if let Some(member) = group.members.get_mut(id).filter(|_| beat.epoch == AWAY) {
            // It keeps its partitions until its session ends, or its successor takes them over.
            member.epoch = AWAY;
            member.revoking.clear();
        } else {
            group.fence(id);
        }
        Ok(ConsumerReply {
            member_id: beat.member_id.clone(),
            epoch: beat.epoch,
            interval: Duration::ZERO,
            assignment: None,
        })
    }
}

impl ConsumerGroup {
    /// Checks that the member is in the group, and that the instance id, if any, is this member's.
    fn find(&self, id: &str, instance: Option<&str>) -> Result<(), Fault> {
        if let Some(instance) = instance {
            let holder = self.instances.get(instance).ok_or(Fault::UnknownMemberId)?;
            return if holder == id { Ok(()) } else { Err(Fault::FencedInstanceId) };
        }
        if self.members.contains_key(id) { Ok(()) } else { Err(Fault::UnknownMemberId) }
    }

    /// Removes members by LeaveGroup.
    pub(in crate::groups) fn leave(&mut self, members: &[Departure]) -> Vec<Departed> {
        let each = members.iter().map(|departure| Departed {
            departure: departure.clone(),
            outcome: self.depart(departure),
        });
        each.collect()
    }

    fn depart(&mut self, departure: &Departure) -> Result<(), Fault> {
        let instance = departure.instance_id.as_deref();
        let id = if departure.member_id.is_empty() {
            let holder = instance.and_then(|instance| self.instances.get(instance));
            holder.cloned().ok_or(Fault::UnknownMemberId)?
        } else {
            self.find(&departure.member_id, instance)?;
            departure.member_id.clone()
        };
        self.fence(&id);
        Ok(())
    }
}
