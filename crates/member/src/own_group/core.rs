//! The core of a membership, whichever group protocol it speaks.

use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;
use tandem_neli::membership::{
    ByPartition, ConsumerConfig, ConsumerMember, GroupConfig, GroupEvent, GroupMember, Outgoing,
    Proof, RequestId, Response,
};

use crate::kafka::GroupProtocol;

/// One of the two.
pub(super) enum Core {
    Classic(Box<GroupMember>),
    Consumer(Box<ConsumerMember>),
}

/// Calls the method of that name on the core that there is.
macro_rules! either {
    ($self:ident, $core:ident => $call:expr) => {
        match $self {
            Core::Classic($core) => $call,
            Core::Consumer($core) => $call,
        }
    };
}

impl Core {
    pub(super) fn new(now: Mono, protocol: GroupProtocol, group: GroupConfig, id: String) -> Self {
        match protocol {
            GroupProtocol::Classic => {
                Self::Classic(Box::new(GroupMember::new(now, group).keeping_fences()))
            }
            GroupProtocol::Consumer => {
                let config = ConsumerConfig { group, id };
                Self::Consumer(Box::new(ConsumerMember::new(now, config).keeping_fences()))
            }
        }
    }

    /// Leaves for a dead member.
    pub(super) fn departing(
        now: Mono,
        protocol: GroupProtocol,
        group: GroupConfig,
        member_id: String,
    ) -> Self {
        match protocol {
            GroupProtocol::Classic => {
                Self::Classic(Box::new(GroupMember::departing(now, group, member_id)))
            }
            GroupProtocol::Consumer => {
                let config = ConsumerConfig { group, id: member_id.clone() };
                Self::Consumer(Box::new(ConsumerMember::departing(now, config, member_id)))
            }
        }
    }

    pub(super) fn handle_heard(&mut self, now: Mono, partition: PartitionId) {
        either!(self, core => core.handle_heard(now, partition));
    }

    pub(super) fn handle_publishing(&mut self, since: Mono) {
        if let Self::Classic(core) = self {
            core.handle_publishing(since);
        }
    }

    pub(super) fn handle_delivered(&mut self, at: Mono, partition: PartitionId) {
        if let Self::Classic(core) = self {
            core.handle_delivered(at, partition);
        }
    }

    pub(super) fn handle_curtailed(&mut self, now: Mono) {
        either!(self, core => core.handle_curtailed(now));
    }

    pub(super) fn handle_set_back(&mut self, now: Mono) {
        either!(self, core => core.handle_set_back(now));
    }

    pub(super) fn handle_leave(&mut self, now: Mono) {
        either!(self, core => core.handle_leave(now));
    }

    pub(super) fn handle_timeout(&mut self, now: Mono) {
        either!(self, core => core.handle_timeout(now));
    }

    pub(super) fn handle_response(&mut self, now: Mono, id: RequestId, response: Response) {
        either!(self, core => core.handle_response(now, id, response));
    }

    pub(super) fn handle_failure(&mut self, now: Mono, id: RequestId) {
        either!(self, core => core.handle_failure(now, id));
    }

    pub(super) fn poll_event(&mut self) -> Option<GroupEvent> {
        either!(self, core => core.poll_event())
    }

    pub(super) fn poll_abandoned(&mut self) -> Option<RequestId> {
        either!(self, core => core.poll_abandoned())
    }

    pub(super) fn poll_request(&mut self, now: Mono) -> Option<Outgoing> {
        either!(self, core => core.poll_request(now))
    }

    pub(super) fn poll_timeout(&self) -> Option<Mono> {
        either!(self, core => core.poll_timeout())
    }

    pub(super) fn awaits_answers(&self) -> bool {
        either!(self, core => core.awaits_answers())
    }

    pub(super) fn is_stable(&self) -> bool {
        either!(self, core => core.is_stable())
    }

    pub(super) fn held(&self) -> Vec<PartitionId> {
        either!(self, core => core.held().collect())
    }

    pub(super) fn proof(&self) -> Option<Proof> {
        either!(self, core => core.proof())
    }

    pub(super) fn poll_fences(&mut self) -> Option<(RequestId, ByPartition)> {
        either!(self, core => core.poll_fences())
    }

    pub(super) fn poll_learned(&mut self) -> Option<i64> {
        either!(self, core => core.poll_learned())
    }

    pub(super) fn handle_fences(&mut self, now: Mono, id: RequestId, kept: &ByPartition) {
        either!(self, core => core.handle_fences(now, id, kept));
    }

    pub(super) fn fence(&self, partition: PartitionId) -> Option<i64> {
        either!(self, core => core.fence(partition))
    }
}
