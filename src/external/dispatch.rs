//! Sends the orders of experiments, on each cluster, and renews the pauses and the cuts that are
//! under way.
//!
//! An order that a cluster does not take is not sent there again: another cluster may take it, and
//! what is not renewed ends.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::key_file::random;
use super::{Deed, Nonce, Order, OrderKey, Origin};
use crate::ids::{ClusterName, Life, TopicName, TopologyName};
use crate::kafka::{Cluster, KafkaError, Publisher};
use crate::time::{Mono, Wall};

/// How long an order is valid, in milliseconds.
const VALID_MS: i64 = 10_000;
/// How often a pause or a cut is renewed.
const RENEW: Duration = Duration::from_secs(1);
/// How often the threads look whether they are to end.
const LOOK: Duration = Duration::from_millis(100);
/// The most orders that wait for one cluster.
const WAITING_MAX: usize = 64;
/// An order that has waited for longer is not sent any more.
const STALE: Duration = Duration::from_secs(3);
/// The length of a nonce, in bytes.
const NONCE: usize = 16;

/// An order, its key, and since when it waits.
type Waiting = (String, Arc<Vec<u8>>, Mono);

/// The way of orders to members. Dropped, it sends no more.
pub struct Dispatch {
    topology: TopologyName,
    key: OrderKey,
    lanes: Vec<(ClusterName, SyncSender<Waiting>)>,
    /// The members that are paused or cut off, and what undoes it.
    held: Mutex<BTreeMap<Life, (Origin, Deed)>>,
    stop: Arc<AtomicBool>,
}

impl Dispatch {
    /// Starts a thread for each cluster, and one that renews what is held.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start(
        clusters: &BTreeMap<ClusterName, Cluster>,
        (topology, topic): (&TopologyName, &TopicName),
        key: OrderKey,
    ) -> io::Result<Arc<Self>> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut lanes = Vec::new();
        for (name, cluster) in clusters {
            let (sender, orders) = sync_channel(WAITING_MAX);
            let lane = Lane { name: name.clone(), cluster: cluster.clone(), topic: topic.clone() };
            let (thread, stop) = (format!("orders to {name}"), Arc::clone(&stop));
            let thread = std::thread::Builder::new().name(thread);
            let _ends_by_the_flag = thread.spawn(move || lane.run(&orders, &stop))?;
            lanes.push((name.clone(), sender));
        }
        let (topology, held) = (topology.clone(), Mutex::default());
        let dispatch = Arc::new(Self { topology, key, lanes, held, stop });
        let weak = Arc::downgrade(&dispatch);
        let thread = std::thread::Builder::new().name("pauses".to_owned());
        let _ends_with_the_dispatch = thread.spawn(move || {
            while let Some(dispatch) = weak.upgrade() {
                dispatch.renew();
                drop(dispatch);
                std::thread::sleep(RENEW);
            }
        })?;
        Ok(dispatch)
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<Life, (Origin, Deed)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives an order to the witness of this life. A pause or a cut is renewed until another order
    /// follows.
    ///
    /// # Errors
    /// No cluster can take it now.
    pub fn order(&self, to: &Origin, deed: Deed) -> io::Result<()> {
        {
            let mut held = self.held();
            match deed {
                Deed::Pause => drop(held.insert(to.life.clone(), (to.clone(), Deed::Continue))),
                Deed::Cut => drop(held.insert(to.life.clone(), (to.clone(), Deed::Mend))),
                Deed::Kill | Deed::Leave | Deed::Continue | Deed::Mend => {
                    drop(held.remove(&to.life));
                }
                Deed::Hold => {}
            }
        }
        self.send(to, deed)
    }

    /// Undoes all that is still held.
    pub fn release(&self) {
        let held = std::mem::take(&mut *self.held());
        for (origin, undo) in held.values() {
            if let Err(error) = self.send(origin, *undo) {
                tracing::warn!(%error, life = %origin.life, "What it holds ends with its lease.");
            }
        }
    }

    fn renew(&self) {
        let held: Vec<_> = self.held().values().cloned().collect();
        for (origin, _) in held {
            if let Err(error) = self.send(&origin, Deed::Hold) {
                tracing::warn!(%error, life = %origin.life, "What it holds is not renewed.");
            }
        }
    }

    fn send(&self, to: &Origin, deed: Deed) -> io::Result<()> {
        let (now, nonce) = (Wall::now(), Nonce(random(NONCE)?));
        let order = Order {
            topology: self.topology.clone(),
            life: to.life.clone(),
            began: to.began,
            nonce,
            expires: Wall(now.0.saturating_add(VALID_MS)),
            deed,
        };
        let record = Arc::new(self.key.seal(&order));
        let waiting = |_: &&(ClusterName, SyncSender<Waiting>)| {
            (order.key(), Arc::clone(&record), Mono::now())
        };
        let taken = self.lanes.iter().filter(|lane| lane.1.try_send(waiting(lane)).is_ok());
        if taken.count() == 0 {
            return Err(io::Error::other("no cluster takes orders now"));
        }
        Ok(())
    }
}

impl Drop for Dispatch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
    }
}

/// The thread of one cluster.
struct Lane {
    name: ClusterName,
    cluster: Cluster,
    topic: TopicName,
}

impl Lane {
    fn run(&self, orders: &Receiver<Waiting>, stop: &AtomicBool) {
        let mut publisher = None;
        while !stop.load(Ordering::SeqCst) {
            let (key, record, since) = match orders.recv_timeout(LOOK) {
                Ok(waiting) => waiting,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if Mono::now().since(since) > STALE {
                continue;
            }
            let published = self.publisher(&mut publisher);
            if let Err(error) = published.and_then(|it| it.publish(&key, &record)) {
                let error = crate::error::chain(&error);
                tracing::warn!(error, cluster = %self.name, "An order did not travel this way.");
                publisher = None;
            }
        }
    }

    fn publisher<'a>(&self, known: &'a mut Option<Publisher>) -> Result<&'a Publisher, KafkaError> {
        if let Some(known) = known {
            return Ok(known);
        }
        Ok(known.insert(Publisher::new(&self.cluster, "tandem-orders", &self.topic)?))
    }
}
