//! The clients of a member, apart from its producer.

use std::time::Duration;

use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;
use tandem_neli::Membership;
use tandem_neli::membership::Proof;

use crate::Config;
use crate::driver::Input;
use crate::kafka::{Consumer, ConsumerSettings, Delivered, KafkaError};
use crate::own_group::OwnGroup;

/// The settings of the consumer; `direct` is the partition that it reads in any case.
pub(crate) fn consumer_settings(config: &Config, direct: Option<PartitionId>) -> ConsumerSettings {
    ConsumerSettings {
        topic: config.topic.clone(),
        group: config.consumer_group.clone(),
        life: config.life.clone(),
        session: config.session,
        heartbeat: config.heartbeat,
        wake: config.wake,
        assignor: config.assignor.clone(),
        direct,
    }
}

/// What a member joins its group and reads its ledger with.
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

    /// The program has been able to see since `now` that claims end sooner.
    pub(crate) fn curtailed(&mut self, now: Mono) {
        if let Some(own) = &mut self.own {
            own.curtailed(now);
        }
    }

    /// The last proof of membership, as far as the group membership has proofs; and the fences,
    /// where they are of another generation than `known`.
    pub(crate) fn proof(&self, known: Option<i32>) -> Vec<Input> {
        let Some(own) = &self.own else { return vec![Input::Proof(None)] };
        let proof = own.proof();
        let since = Input::Proof(proof.map(|proof| proof.since));
        match proof.filter(|proof| Some(proof.generation) != known) {
            Some(Proof { generation, .. }) => vec![Input::Fences(generation, own.fences()), since],
            None => vec![since],
        }
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
