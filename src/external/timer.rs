//! Compares the clock of this process with that of the broker to which it publishes: from time to
//! time the instants before and after a record are kept.
//!
//! The record says nothing of who appended it, so the cluster is asked before and after it who
//! leads the partition. Where the answers differ, the record compares nothing.

use std::time::Duration;

use super::Reading;
use crate::ids::PartitionId;
use crate::kafka::{Appended, KafkaError, Publisher};
use crate::observation::ClockDomain;
use crate::time::Mono;

/// How often clocks are compared.
pub(super) const EVERY: Duration = Duration::from_millis(500);
/// A round trip that takes longer says too little.
const LONGEST: Duration = Duration::from_secs(1);

/// The comparisons with one cluster.
#[derive(Debug, Default)]
pub(super) struct Timer {
    partition: Option<PartitionId>,
    tried: Option<Mono>,
    last: Option<Reading>,
}

impl Timer {
    /// The last comparison, of this clock.
    pub(super) fn last(&self, clock: &ClockDomain) -> Option<(ClockDomain, Reading)> {
        self.last.map(|reading| (clock.clone(), reading))
    }

    /// The same, where the clock is known.
    pub(super) const fn reading(&self) -> Option<Reading> {
        self.last
    }

    /// Publishes a record, and compares by it if it is time to.
    pub(super) fn publish(
        &mut self,
        to: &Publisher,
        record: impl FnOnce(&Publisher) -> Result<Appended, KafkaError>,
    ) -> Result<(), KafkaError> {
        let now = Mono::now();
        let due = self.tried.is_none_or(|tried| now.since(tried) >= EVERY);
        let led =
            if due { self.partition.and_then(|partition| to.leader(partition)) } else { None };
        let sent = Mono::now();
        let appended = record(to)?;
        let acked = Mono::now();
        let before = self.partition.replace(appended.partition);
        if !due || acked.since(sent) > LONGEST {
            return Ok(());
        }
        // The first record only says which partition is asked about.
        self.tried = before.map(|_| now);
        if before == self.partition
            && let (Some(broker), Some(stamp)) = (led, appended.stamp)
            && to.leader(appended.partition) == Some(broker)
        {
            self.last = Some(Reading { broker, sent, acked, stamp });
        }
        Ok(())
    }
}
