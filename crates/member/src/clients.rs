//! The clients of a member, apart from its producer.

use std::collections::BTreeMap;
use std::time::Duration;

use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;
use tandem_neli::Membership;
use tandem_neli::membership::Proof;

use crate::Config;
use crate::kafka::{Consumer, ConsumerSettings, Delivered, GroupProtocol, KafkaError};
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
        // librdkafka knows no assignor of the brokers, and joins no group then.
        assignor: match config.protocol {
            GroupProtocol::Classic => config.assignor.clone(),
            GroupProtocol::Consumer => "range".to_owned(),
        },
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
    /// Reads what the member reads in any case, before its group assigns anything. Looks up the
    /// leaders of the ledger's partitions, which may take a moment.
    pub(crate) fn begin(&mut self) {
        if self.own.is_some() {
            self.consumer.hold(&[]);
        }
    }

    /// The next message within `wait`, or within less if the group has something due.
    pub(crate) fn heard(
        &mut self,
        now: Mono,
        wait: Duration,
    ) -> Result<Option<Delivered>, KafkaError> {
        let group = self.own.as_ref().map(|own| own.patience(now));
        let wait = wait.min(self.wake).min(group.unwrap_or(self.wake));
        let delivered = self.consumer.heard(now, wait);
        if let (Some(own), Ok(Some(delivered))) = (&mut self.own, &delivered) {
            own.heard(Mono::now(), delivered.heard.partition);
        }
        delivered
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

    /// The last delivery to each partition, from a member that has published on all of them since
    /// `since`.
    pub(crate) fn delivered(
        &mut self,
        since: Mono,
        last: impl Iterator<Item = (PartitionId, Mono)>,
    ) {
        if let Some(own) = &mut self.own {
            own.publishes(since);
            last.for_each(|(partition, at)| own.delivered(at, partition));
        }
    }

    /// The ledger was set back, and all claims have ended.
    pub(crate) fn set_back(&mut self) {
        if let Some(own) = &mut self.own {
            own.set_back();
        }
    }

    /// The program has been able to see since `now` that claims end sooner.
    pub(crate) fn curtailed(&mut self, now: Mono) {
        if let Some(own) = &mut self.own {
            own.curtailed(now);
        }
    }

    /// The last proof of membership; none if the group membership has no proofs.
    pub(crate) fn proof(&self) -> Option<Proof> {
        self.own.as_ref().and_then(OwnGroup::proof)
    }

    /// The fences of the generation of the last proof.
    pub(crate) fn fences(&self) -> BTreeMap<PartitionId, i64> {
        self.own.as_ref().map(OwnGroup::fences).unwrap_or_default()
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
