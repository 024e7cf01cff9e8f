//! Records lost brokers of clusters that outlive the run. One thread per cluster asks twice a
//! second for the cluster's brokers. A cluster that accepts connections and answers nothing is lost
//! after two such questions, the second right after the first: 2 to 2.5 s after its last answer.
//!
//! Kafka still names a killed broker until its session with the cluster expires. Members that were
//! connected to it report the loss earlier.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::{Clusters, Recorder};
use crate::ids::ClusterName;
use crate::kafka::Admin;
use crate::observation::RunEvent;
use crate::topology::{Address, Plan};

/// The time between an answer and the next question.
const PERIOD: Duration = Duration::from_millis(500);
/// How long a cluster may take to answer.
const ANSWER: Duration = Duration::from_secs(1);
/// How often the thread checks whether to end.
const LOOK: Duration = Duration::from_millis(100);
/// After this many unanswered requests in a row, all brokers of the cluster are lost.
const UNANSWERED: u32 = 2;

/// Running sentinels. Dropping them ends their threads.
pub struct Sentinels {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// The known brokers of one cluster.
struct Sentinel {
    cluster: ClusterName,
    present: BTreeSet<String>,
    lost: BTreeSet<String>,
    unanswered: u32,
}

impl Sentinels {
    /// Starts one for each cluster of `plan` that outlives the run.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(plan: &Plan, clusters: &Clusters, record: &Arc<Recorder>) -> io::Result<Self> {
        let mut sentinels = Self { stop: Arc::default(), threads: Vec::new() };
        let apart =
            plan.clusters.iter().filter(|(_, it)| matches!(it.address, Address::Bootstrap(_)));
        for (name, _) in apart {
            let admin = match Admin::new(&clusters.of_controller(name)) {
                Ok(admin) => admin,
                Err(error) => {
                    let error = crate::error::chain(&error);
                    tracing::warn!(error, cluster = %name, "Lost brokers cannot be recorded.");
                    continue;
                }
            };
            let mut sentinel = Sentinel::of(name.clone());
            let (stop, record) = (Arc::clone(&sentinels.stop), Arc::clone(record));
            let thread = Builder::new().name(format!("sentinel-{name}"));
            sentinels.threads.push(thread.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let answer = admin.glance(ANSWER);
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    for what in sentinel.hear(answer) {
                        record.note(None, what);
                    }
                    if !sentinel.doubts() {
                        wait(&stop);
                    }
                }
            })?);
        }
        Ok(sentinels)
    }

    /// Stops recording: brokers that end from here on end on purpose.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Drop for Sentinels {
    fn drop(&mut self) {
        self.stop();
        for thread in self.threads.drain(..) {
            thread.join().ok();
        }
    }
}

fn wait(stop: &AtomicBool) {
    let mut left = PERIOD;
    while !stop.load(Ordering::Relaxed) && !left.is_zero() {
        std::thread::sleep(LOOK);
        left = left.saturating_sub(LOOK);
    }
}

impl Sentinel {
    fn of(cluster: ClusterName) -> Self {
        let (present, lost) = (BTreeSet::new(), BTreeSet::new());
        Self { cluster, present, lost, unanswered: 0 }
    }

    /// Whether the next question decides if the cluster is lost.
    fn doubts(&self) -> bool {
        (1..UNANSWERED).contains(&self.unanswered)
    }

    /// The facts to record after an answer with the cluster's brokers, or after no answer.
    fn hear(&mut self, answer: Option<BTreeSet<String>>) -> Vec<RunEvent> {
        self.unanswered = if answer.is_some() { 0 } else { self.unanswered.saturating_add(1) };
        let named = match answer {
            Some(named) => named,
            None if self.unanswered < UNANSWERED => return Vec::new(),
            None => BTreeSet::new(),
        };
        let cluster = || self.cluster.clone();
        let gone = self.present.difference(&named).cloned();
        let gone = gone.map(|broker| RunEvent::BrokerLost { cluster: cluster(), broker });
        let back = self.lost.intersection(&named).cloned();
        let back = back.map(|broker| RunEvent::BrokerBack { cluster: cluster(), broker });
        let noted = gone.chain(back).collect();
        self.lost.extend(self.present.difference(&named).cloned());
        self.lost.retain(|broker| !named.contains(broker));
        self.present = named;
        noted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_is_lost_once_and_comes_back_once() {
        let mut sentinel = Sentinel::of("a".parse().unwrap());
        let named = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect());
        let lost = |name: &str| RunEvent::BrokerLost {
            cluster: "a".parse().unwrap(),
            broker: name.to_owned(),
        };
        let back = |name: &str| RunEvent::BrokerBack {
            cluster: "a".parse().unwrap(),
            broker: name.to_owned(),
        };
        assert_eq!(sentinel.hear(named(&["1 at h:1", "2 at h:2"])), []);
        assert_eq!(sentinel.hear(named(&["2 at h:2"])), [lost("1 at h:1")]);
        assert_eq!(sentinel.hear(named(&["2 at h:2"])), []);
        assert!(!sentinel.doubts());
        assert_eq!(sentinel.hear(None), [], "one unanswered request is not a loss");
        assert!(sentinel.doubts(), "it asks again at once");
        assert_eq!(sentinel.hear(None), [lost("2 at h:2")]);
        assert!(!sentinel.doubts());
        assert_eq!(sentinel.hear(None), []);
        let all = sentinel.hear(named(&["1 at h:1", "2 at h:2"]));
        assert_eq!(all, [back("1 at h:1"), back("2 at h:2")]);
    }
}
