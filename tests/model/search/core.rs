//! The core of a member's group, whichever protocol it speaks.

use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;
use tandem_neli::membership::{
    ConsumerConfig, ConsumerMember, GroupEvent, GroupMember, Outgoing, Proof, RequestId, Response,
};

use super::setting::{Protocol, Setting};

/// The names of members; those of the newer protocol begin their ids with them.
pub(super) const NAMES: [&str; 3] = ["a", "b", "c"];

#[derive(Debug, Clone, Hash)]
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
    pub(super) fn new(now: Mono, number: u64, setting: &Setting) -> Self {
        let group = setting.group();
        match setting.protocol {
            Protocol::Classic => Self::Classic(Box::new(GroupMember::new(now, group))),
            Protocol::Consumer => {
                let id = NAMES[usize::try_from(number).unwrap()].to_owned();
                let config = ConsumerConfig { group, id };
                Self::Consumer(Box::new(ConsumerMember::new(now, config)))
            }
        }
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

    pub(super) fn is_stable(&self) -> bool {
        either!(self, core => core.is_stable())
    }

    pub(super) fn held(&self) -> Vec<PartitionId> {
        either!(self, core => core.held().collect())
    }

    pub(super) fn proof(&self) -> Option<Proof> {
        either!(self, core => core.proof())
    }
}
