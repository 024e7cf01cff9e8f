//! Reads the facts topics of all clusters, and hands out their letters: at first in the order of
//! their stamps, so that the past passes as it happened, and then as they arrive.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::Letter;
use crate::ids::{ClusterName, TopicName};
use crate::kafka::{Cluster, Tail, TailFrom, Tailed};
use crate::observation::ClockDomain;
use crate::time::Mono;

/// How many letters of a cluster may wait.
const WAITING_MAX: usize = 256;
/// How long a tail waits for a record before it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// How often a cluster without the topic, or without an answer, is asked again.
const AGAIN: Duration = Duration::from_millis(500);
/// How long a cluster may show nothing of its past; then the others go on without it.
const SHOWS: Duration = Duration::from_secs(5);

/// What a reader hands out.
#[derive(Debug)]
pub enum Arrival {
    /// A letter, and the cluster that it came by.
    Letter(ClusterName, Box<Letter>),
    /// All that is past was handed out. Said once.
    Caught,
    /// Nothing within the time.
    Nothing,
}

enum Item {
    Letter(Letter),
    Caught,
}

/// Rings when a tail has something.
#[derive(Default)]
struct Bell(Mutex<bool>, Condvar);

impl Bell {
    fn ring(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.1.notify_all();
    }

    fn wait(&self, within: Duration) {
        let rung = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.1.wait_timeout_while(rung, within, |rung| !*rung);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

/// One cluster.
struct Lane {
    name: ClusterName,
    items: Receiver<Item>,
    head: Option<Letter>,
    caught: bool,
    /// When it last showed something; at first, when the reader began.
    shown: Mono,
}

impl Lane {
    fn new(name: ClusterName, items: Receiver<Item>) -> Self {
        Self { name, items, head: None, caught: false, shown: Mono::now() }
    }

    /// Takes its next letter, if there is one.
    fn fill(&mut self) {
        while self.head.is_none() {
            match self.items.try_recv() {
                Ok(Item::Letter(letter)) => self.head = Some(letter),
                Ok(Item::Caught) => self.caught = true,
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return,
            }
            self.shown = Mono::now();
        }
    }

    /// Whether its next letter may be of the past, and older than those of the others.
    fn is_open(&self) -> bool {
        let late = Mono::now().since(self.shown) >= SHOWS;
        self.head.is_none() && !self.caught && !late
    }
}

/// Tails of one topic on several clusters. Ends with this value.
pub struct Reader {
    here: ClockDomain,
    lanes: Vec<Lane>,
    bell: Arc<Bell>,
    caught: bool,
    stop: Arc<AtomicBool>,
}

impl Reader {
    /// Starts to read the topic on all clusters. The letters of another clock than `here` are
    /// handed out at once.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start(
        clusters: &BTreeMap<ClusterName, Cluster>,
        topic: &TopicName,
        from: TailFrom,
        here: ClockDomain,
    ) -> io::Result<Self> {
        let (bell, stop) = (Arc::new(Bell::default()), Arc::new(AtomicBool::new(false)));
        let mut lanes = Vec::new();
        for (name, cluster) in clusters {
            let (sender, items) = sync_channel(WAITING_MAX);
            let tail = Tailing {
                name: name.clone(),
                cluster: cluster.clone(),
                topic: topic.clone(),
                sender,
                bell: Arc::clone(&bell),
                stop: Arc::clone(&stop),
            };
            let thread = std::thread::Builder::new().name(format!("facts of {name}"));
            let _ends_by_the_flag = thread.spawn(move || tail.run(from))?;
            lanes.push(Lane::new(name.clone(), items));
        }
        Ok(Self { here, lanes, bell, caught: false, stop })
    }

    /// What comes next, within `wait`.
    pub fn next(&mut self, wait: Duration) -> Arrival {
        if let Some(arrival) = self.take() {
            return arrival;
        }
        self.bell.wait(wait);
        self.take().unwrap_or(Arrival::Nothing)
    }

    fn take(&mut self) -> Option<Arrival> {
        self.lanes.iter_mut().for_each(Lane::fill);
        if !self.caught && self.lanes.iter().any(Lane::is_open) {
            return None;
        }
        let oldest = |lane: &&mut Lane| lane.head.as_ref().map(|letter| letter.stamp(&self.here));
        let with = self.lanes.iter_mut().filter(|lane| lane.head.is_some());
        if let Some(lane) = with.min_by_key(oldest)
            && let Some(letter) = lane.head.take()
        {
            return Some(Arrival::Letter(lane.name.clone(), Box::new(letter)));
        }
        (!std::mem::replace(&mut self.caught, true)).then_some(Arrival::Caught)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
    }
}

/// The thread of one cluster.
struct Tailing {
    name: ClusterName,
    cluster: Cluster,
    topic: TopicName,
    sender: SyncSender<Item>,
    bell: Arc<Bell>,
    stop: Arc<AtomicBool>,
}

impl Tailing {
    fn stops(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn send(&self, item: Item) -> bool {
        let sent = self.sender.send(item).is_ok();
        self.bell.ring();
        sent
    }

    fn run(&self, from: TailFrom) {
        let Some(mut tail) = self.open(from) else { return };
        while !self.stops() {
            let item = match tail.next(LOOK) {
                Ok(Tailed::Nothing) => continue,
                Ok(Tailed::Caught) => Item::Caught,
                Ok(Tailed::Record(record)) => match Letter::read(&record) {
                    Ok(letter) => Item::Letter(letter),
                    Err(error) => {
                        tracing::warn!(%error, cluster = %self.name, "A record is left out.");
                        continue;
                    }
                },
                Err(error) => {
                    let error = crate::error::chain(&error);
                    tracing::debug!(error, cluster = %self.name, "The facts topic is not read.");
                    continue;
                }
            };
            if !self.send(item) {
                return;
            }
        }
    }

    /// Opens the tail as soon as the topic is there. One that was not there has no past.
    fn open(&self, from: TailFrom) -> Option<Tail> {
        let (mut from, mut warned) = (from, false);
        while !self.stops() {
            match Tail::open(&self.cluster, &self.topic, from) {
                Ok(Some(tail)) => return Some(tail),
                Ok(None) => {
                    from = TailFrom::Beginning;
                    if !self.send(Item::Caught) {
                        return None;
                    }
                }
                Err(error) => {
                    let error = crate::error::chain(&error);
                    if !std::mem::replace(&mut warned, true) {
                        tracing::warn!(error, cluster = %self.name, "The facts wait to be read.");
                    }
                }
            }
            std::thread::sleep(AGAIN);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::external::Origin;

    fn clock() -> ClockDomain {
        ClockDomain { boot: "b".to_owned(), time_namespace: 1 }
    }

    fn letter(began: u64) -> Item {
        let life = "p1-a.1".to_owned().try_into().unwrap();
        let (group, clock) = ("p1".parse().unwrap(), clock());
        let origin = Origin { group, life, pid: 7, began: Mono(began), clock };
        let (died, orders, reading, facts) = (None, None, None, Vec::new());
        Item::Letter(Letter { origin, died, orders, reading, facts })
    }

    fn reader(lanes: Vec<Lane>) -> Reader {
        let (bell, stop) = (Arc::default(), Arc::default());
        Reader { here: clock(), lanes, bell, caught: false, stop }
    }

    fn lane(name: &str, shown: Mono) -> (SyncSender<Item>, Lane) {
        let (sender, items) = sync_channel(WAITING_MAX);
        (sender, Lane { shown, ..Lane::new(name.parse().unwrap(), items) })
    }

    /// What it hands out: when each letter's life began, and 0 for the end of the past.
    fn taken(reader: &mut Reader) -> Vec<u64> {
        let next = || match reader.take()? {
            Arrival::Letter(_, letter) => Some(letter.origin.began.0),
            Arrival::Caught => Some(0),
            Arrival::Nothing => None,
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_long_past_is_not_over_where_a_cluster_pauses_to_show_it() {
        let (sender, lane) = lane("a", Mono::now() - SHOWS);
        let mut reader = reader(vec![lane]);
        for began in [1, 2] {
            sender.send(letter(began)).unwrap();
            assert_eq!(taken(&mut reader), [began], "the rest of the past is still to come");
        }
        sender.send(Item::Caught).unwrap();
        assert_eq!(taken(&mut reader), [0]);
    }

    #[test]
    fn the_oldest_is_first_and_a_cluster_that_shows_nothing_is_not_waited_for() {
        // Neither is waited for in vain while the test is held up.
        let recent = Mono::now() + Duration::from_secs(3_600);
        let (one, other) = (lane("a", recent), lane("b", recent));
        let (silent, gone) = lane("c", Mono::now() - SHOWS);
        let mut reader = reader(vec![one.1, other.1, gone]);
        one.0.send(letter(2)).unwrap();
        assert_eq!(taken(&mut reader), [0; 0], "the other cluster may have an older one");
        other.0.send(letter(1)).unwrap();
        other.0.send(Item::Caught).unwrap();
        assert_eq!(taken(&mut reader), [1, 2]);
        one.0.send(Item::Caught).unwrap();
        assert_eq!(taken(&mut reader), [0]);
        drop(silent);
    }
}
