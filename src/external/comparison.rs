//! Compares the clock of a reader with those of brokers, once a member with another clock is known.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::Reading;
use super::timer::{EVERY, Timer};
use crate::ids::{ClusterName, TopicName};
use crate::kafka::{Cluster, Publisher};

/// The key of the records, which have no value.
const KEY: &str = "clock";
/// How often a cluster without an answer is asked again.
const AGAIN: Duration = Duration::from_secs(1);
/// How many comparisons may wait.
const WAITING_MAX: usize = 64;

/// The comparisons of one reader. Ends with this value.
pub struct Comparison {
    clusters: BTreeMap<ClusterName, Cluster>,
    topic: TopicName,
    begun: bool,
    sender: SyncSender<(ClusterName, Reading)>,
    readings: Receiver<(ClusterName, Reading)>,
    stop: Arc<AtomicBool>,
}

impl Comparison {
    /// Nothing is compared yet, and nothing published.
    #[must_use]
    pub fn new(clusters: BTreeMap<ClusterName, Cluster>, topic: TopicName) -> Self {
        let (sender, readings) = sync_channel(WAITING_MAX);
        Self { clusters, topic, begun: false, sender, readings, stop: Arc::default() }
    }

    /// Begins to compare, by records on the topic of each cluster. Once is enough.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn begin(&mut self) -> std::io::Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        for (name, cluster) in &self.clusters {
            let comparing = Comparing {
                name: name.clone(),
                cluster: cluster.clone(),
                topic: self.topic.clone(),
                sender: self.sender.clone(),
                stop: Arc::clone(&self.stop),
            };
            let thread = std::thread::Builder::new().name(format!("clock of {name}"));
            let _ends_by_the_flag = thread.spawn(move || comparing.run())?;
        }
        Ok(())
    }

    /// The next comparison with a broker, if there is one.
    #[must_use]
    pub fn poll(&self) -> Option<(ClusterName, Reading)> {
        self.readings.try_recv().ok()
    }
}

impl Drop for Comparison {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
    }
}

/// The thread of one cluster.
struct Comparing {
    name: ClusterName,
    cluster: Cluster,
    topic: TopicName,
    sender: SyncSender<(ClusterName, Reading)>,
    stop: Arc<AtomicBool>,
}

impl Comparing {
    fn run(&self) {
        let (mut timer, mut publisher, mut warned) = (Timer::default(), None, false);
        let (mut last, mut pause) = (None, Duration::ZERO);
        while !self.stop.load(Ordering::SeqCst) {
            let published = self
                .publisher(&mut publisher)
                .and_then(|to| timer.publish(to, |to| to.publish_nothing(KEY)));
            if let Err(error) = published {
                let error = crate::error::chain(&error);
                if !std::mem::replace(&mut warned, true) {
                    let cluster = &self.name;
                    tracing::warn!(error, %cluster, "Clocks of other hosts cannot be compared.");
                }
                publisher = None;
                std::thread::sleep(AGAIN);
                continue;
            }
            let reading = timer.reading();
            if let Some(reading) = reading.filter(|_| reading != last) {
                match self.sender.try_send((self.name.clone(), reading)) {
                    // The reader lags; a later comparison is as good.
                    Ok(()) | Err(mpsc::TrySendError::Full(_)) => {}
                    Err(mpsc::TrySendError::Disconnected(_)) => return,
                }
            }
            last = reading;
            // The first record only finds out which broker is asked.
            std::thread::sleep(std::mem::replace(&mut pause, EVERY));
        }
    }

    fn publisher<'a>(
        &self,
        known: &'a mut Option<Publisher>,
    ) -> Result<&'a Publisher, crate::kafka::KafkaError> {
        match known {
            Some(known) => Ok(known),
            None => Ok(known.insert(Publisher::new(&self.cluster, "tandem-clock", &self.topic)?)),
        }
    }
}
