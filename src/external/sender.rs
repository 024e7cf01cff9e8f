//! Delivers what waits in outboxes to one cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::ensure_topic;
use super::outbox::Outbox;
use super::timer::Timer;
use crate::ids::{ClusterName, TopicName};
use crate::kafka::{Cluster, KafkaError, Publisher};
use crate::observation::ClockDomain;

/// The least time between two letters of one life: facts travel in batches.
const PACE: Duration = Duration::from_millis(50);
/// How often a sender without work looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// The waits after failed attempts.
const AGAIN: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(2)];

/// One cluster, and what it is to get.
pub(super) struct Sender {
    pub(super) name: ClusterName,
    pub(super) cluster: Cluster,
    pub(super) topic: TopicName,
    /// Those that are first in the list go first.
    pub(super) outboxes: Vec<Arc<Outbox>>,
    pub(super) stop: Arc<AtomicBool>,
    /// The clock of this process.
    pub(super) clock: ClockDomain,
}

impl Sender {
    /// Delivers until it is to stop.
    pub(super) fn run(&self) {
        let mut publisher = None;
        let mut fails = false;
        let mut wait = AGAIN[0];
        let mut timer = Timer::default();
        while !self.stop.load(Ordering::SeqCst) {
            let mut all = self.outboxes.iter();
            let work = all.find_map(|outbox| {
                Some((outbox, outbox.next(&self.name, timer.last(&self.clock).as_ref())?))
            });
            let Some((outbox, work)) = work else {
                if let Some(first) = self.outboxes.first() {
                    first.wait(LOOK);
                }
                continue;
            };
            let sent = self.publisher(&mut publisher);
            match sent.and_then(|to| timer.publish(to, |to| to.publish(&work.key, &work.record))) {
                Ok(()) => {
                    outbox.delivered(&self.name, &work);
                    if std::mem::take(&mut fails) {
                        tracing::warn!(cluster = %self.name, "Facts are delivered again.");
                    }
                    wait = AGAIN[0];
                    std::thread::sleep(PACE);
                }
                Err(error) => {
                    let (error, cluster) = (crate::error::chain(&error), &self.name);
                    // Once, since the log is not bounded.
                    if !std::mem::replace(&mut fails, true) {
                        tracing::warn!(error, %cluster, "Facts wait: they cannot be delivered.");
                    }
                    publisher = None;
                    std::thread::sleep(wait);
                    wait = (wait * 2).min(AGAIN[1]);
                }
            }
        }
    }

    fn publisher<'a>(&self, known: &'a mut Option<Publisher>) -> Result<&'a Publisher, KafkaError> {
        if let Some(known) = known {
            return Ok(known);
        }
        // Where the topic is missing and must not be created here, publishing says so.
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build()
            && let Err(error) = runtime.block_on(ensure_topic(&self.cluster, &self.topic))
        {
            let error = crate::error::chain(&error);
            tracing::debug!(error, "The facts topic cannot be looked up or created.");
        }
        let publisher = Publisher::new(&self.cluster, "tandem-witness", &self.topic)?;
        Ok(known.insert(publisher))
    }
}
