//! The clients of a member: what reads the ledger, and its group membership.

use std::time::Duration;

use tandem_facts::time::Mono;
use tandem_neli::Membership;

use crate::kafka::{Consumer, Delivered, KafkaError};
use crate::own_group::OwnGroup;

/// The clients of a member, apart from its producer.
pub(crate) struct Clients {
    pub(crate) consumer: Consumer,
    /// Its group membership, unless that is the consumer's.
    pub(crate) own: Option<OwnGroup>,
    pub(crate) wake: Duration,
}

impl Clients {
    /// The next message within `wait`, or within less if the group has something due.
    pub(crate) fn heard(
        &mut self,
        now: Mono,
        wait: Duration,
    ) -> Result<Option<Delivered>, KafkaError> {
        let group = self.own.as_ref().map(|own| own.patience(now));
        self.consumer.heard(now, wait.min(self.wake).min(group.unwrap_or(self.wake)))
    }

    /// The changes of the assignment since the last call.
    pub(crate) fn changes(&mut self) -> Vec<Membership> {
        let Some(own) = &mut self.own else { return self.consumer.changes() };
        let changes: Vec<Membership> = own.turn();
        if !changes.is_empty() {
            self.consumer.hold(&own.held());
        }
        changes
    }

    /// The last proof of membership, as far as the group membership has proofs.
    pub(crate) fn proof(&self) -> Option<Mono> {
        self.own.as_ref()?.proof()
    }

    /// Gives back what the member holds. It leaves the group with the next turns.
    pub(crate) fn begin_leave(&mut self) {
        if let Some(own) = &mut self.own {
            own.begin_leave();
        }
    }

    /// Leaves the group within `within`, calls `left`, and closes the client. Closing can hang.
    pub(crate) fn leave(self, within: Duration, left: impl FnOnce()) {
        match self.own {
            None => {
                self.consumer.leave();
                left();
            }
            Some(own) => {
                own.leave(within);
                left();
                self.consumer.leave();
            }
        }
    }
}
