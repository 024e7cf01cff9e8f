//! The recorder: every fact of a run goes through it, to the journal, the live fold and all
//! followers.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use crate::fold::Fold;
use crate::ids::Life;
use crate::journal::{Header, JournalError, Queue, Sink, Written};
use crate::live::Live;
use crate::observation::{Fact, RunEvent, What};
use crate::time::Mono;

/// How many facts a follower may be behind; with fifty members, that is half a minute.
const BEHIND_MAX: usize = 16_384;
/// How long the last facts may take to be written.
const FLUSH: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(5);

/// Records the facts of one run in its journal and its live fold. Recording never waits for the
/// disk.
pub struct Recorder {
    inner: Mutex<Inner>,
    fold: Arc<Fold>,
    journal: Queue,
    changed: watch::Sender<()>,
    followers: broadcast::Sender<Arc<Fact>>,
    /// Cancelled when the journal fails: what is not written cannot be judged.
    broken: CancellationToken,
    /// The time, in nanoseconds, if the owner lets it pass.
    passed: Option<AtomicU64>,
    /// The state of the journal, if another process writes it.
    elsewhere: Mutex<Option<Written>>,
}

struct Inner {
    seq: u64,
    hole: Option<Hole>,
    /// How many facts found no room in the queue, in all holes.
    dropped: u64,
}

/// A sequence of facts that found no room in the queue.
struct Hole {
    from: Mono,
    facts: u64,
}

/// The disk did not take all facts in time, so the journal is incomplete.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the disk blocks: {facts} facts were not written to {} within {FLUSH:?}", path.display())]
pub struct Unflushed {
    /// How many facts are missing.
    pub facts: usize,
    /// The journal.
    pub path: std::path::PathBuf,
}

impl Recorder {
    /// A recorder that writes to `journal` and updates `live`.
    ///
    /// # Errors
    /// The thread that writes cannot be started.
    pub fn new(journal: impl Into<Sink>, live: Live) -> io::Result<Self> {
        let recorder = Self::still(journal, live, None)?;
        recorder.fold.start()?;
        Ok(recorder)
    }

    /// A recorder of facts that others wrote, perhaps long ago. Time passes only when
    /// [`pass`](Self::pass) says so.
    ///
    /// # Errors
    /// The thread that writes cannot be started.
    pub fn observing(journal: impl Into<Sink>, live: Live) -> io::Result<Self> {
        Self::still(journal, live, Some(AtomicU64::new(0)))
    }

    fn still(journal: impl Into<Sink>, live: Live, passed: Option<AtomicU64>) -> io::Result<Self> {
        let inner = Inner { seq: 0, hole: None, dropped: 0 };
        let broken = CancellationToken::new();
        let journal = Queue::start(journal.into(), broken.clone())?;
        let followers = broadcast::Sender::new(BEHIND_MAX);
        let changed = watch::Sender::new(());
        let fold = Arc::new(Fold::new(live));
        let (inner, elsewhere) = (Mutex::new(inner), Mutex::default());
        Ok(Self { inner, fold, journal, changed, followers, broken, passed, elsewhere })
    }

    /// Whether the owner lets time pass.
    #[must_use]
    pub fn is_observing(&self) -> bool {
        self.passed.is_some()
    }

    /// Lets time pass until `now`; it never goes back.
    pub fn pass(&self, now: Mono) {
        if let Some(passed) = &self.passed {
            passed.fetch_max(now.0, Ordering::SeqCst);
            self.fold.pass(now);
        }
    }

    /// Until when time has passed, if the owner lets it pass.
    #[must_use]
    pub fn passed(&self) -> Option<Mono> {
        self.passed.as_ref().map(|passed| Mono(passed.load(Ordering::SeqCst)))
    }

    fn now(&self) -> Mono {
        self.passed().unwrap_or_else(Mono::now)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records what the controller sees of `life` now. Returns the timestamp.
    pub fn note(&self, life: Option<&Life>, event: RunEvent) -> Mono {
        let mut inner = self.inner();
        // Timestamped under the lock, so that the controller's facts are in the order of their
        // timestamps.
        let now = self.now();
        self.write(&mut inner, now, life, event);
        now
    }

    /// Records what the controller saw of `life` at `t`.
    pub fn note_at(&self, t: Mono, life: Option<&Life>, event: RunEvent) {
        self.write(&mut self.inner(), t, life, event);
    }

    fn write(&self, inner: &mut Inner, t: Mono, life: Option<&Life>, event: RunEvent) {
        inner.seq += 1;
        let fact = Fact { t, seq: inner.seq, life: life.cloned(), what: What::Run(event) };
        self.put(inner, fact);
    }

    /// Sends the followers alone a fact of the controller, in its place among the others. It has
    /// the number of the fact before it, so that none is missing without it. Returns its timestamp.
    pub fn announce(&self, event: RunEvent) -> Mono {
        let inner = self.inner();
        let t = self.now();
        let fact = Fact { t, seq: inner.seq, life: None, what: What::Run(event) };
        // Without followers there is nothing to announce it to.
        self.followers.send(Arc::new(fact)).ok();
        t
    }

    /// From now on the topology is that of `header`. Returns since when, and how much of the
    /// journal must be written until its files say so.
    pub fn change(&self, header: &Header) -> (Mono, u64) {
        let (at, until) = {
            // Each fact is before the change, or after it.
            let _inner = self.inner();
            let at = self.now();
            self.journal.change(at, header.clone());
            (at, self.journal.progress().0)
        };
        // Without that lock: the fold's comes before it, because its listeners record facts.
        self.fold.change(&header.plan, at);
        (at, until)
    }

    /// Records a member's fact.
    pub fn take(&self, fact: Fact) {
        self.put(&mut self.inner(), fact);
    }

    fn put(&self, inner: &mut Inner, fact: Fact) {
        if inner.hole.is_some() && self.journal.has_room() {
            self.close_hole(inner);
        }
        let fact = Arc::new(fact);
        let now = Mono::now();
        if !self.journal.put(now, &fact) {
            let hole = inner.hole.get_or_insert(Hole { from: now, facts: 0 });
            hole.from = hole.from.min(fact.t);
            hole.facts += 1;
            inner.dropped += 1;
        }
        if self.followers.receiver_count() > 0 {
            // This fails if the last follower has just gone.
            self.followers.send(Arc::clone(&fact)).ok();
        }
        // What is folded was sent to followers before: none is behind the fold and cannot know.
        self.fold.put(fact);
        self.changed.send_replace(());
    }

    /// Records that facts are missing, and from which time.
    fn close_hole(&self, inner: &mut Inner) {
        let Some(Hole { from, facts }) = inner.hole.take() else { return };
        tracing::warn!(facts, "The disk was too slow for these facts; their time is unknown.");
        let until = Mono::now();
        self.write(inner, until, None, RunEvent::Unwritten { from, until, facts });
    }

    /// Waits until all facts are written, for at most ten seconds. Later facts may be lost.
    ///
    /// # Errors
    /// The disk did not take all facts in time.
    pub async fn flush(&self) -> Result<(), Unflushed> {
        let began = Mono::now();
        loop {
            let is_open = {
                let mut inner = self.inner();
                if inner.hole.is_some() && self.journal.has_room() {
                    self.close_hole(&mut inner);
                }
                inner.hole.is_some()
            };
            if !is_open {
                self.journal.close();
            }
            let facts = self.journal.waiting();
            if facts == 0 {
                return Ok(());
            }
            if Mono::now().since(began) >= FLUSH {
                return Err(Unflushed { facts, path: self.journal.written().path });
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Reads the live fold, with all facts recorded so far.
    pub fn look<R>(&self, look: impl FnOnce(&Live) -> R) -> R {
        self.fold.look(look)
    }

    /// The live fold of all recorded facts.
    #[must_use]
    pub fn fold(&self) -> &Arc<Fold> {
        &self.fold
    }

    /// The state of the journal: its file, whether it is written, and how many facts were lost.
    #[must_use]
    pub fn written(&self) -> Written {
        let elsewhere = self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(written) = &*elsewhere {
            return written.clone();
        }
        let dropped = self.inner().dropped;
        let written = self.journal.written();
        Written { lost: written.lost + dropped, ..written }
    }

    /// Sets the state of the journal, which another process writes.
    pub fn written_elsewhere(&self, written: Written) {
        *self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner) = Some(written);
    }

    /// Sends facts to the followers alone: those from which they know how things stand.
    pub fn brief_followers(&self, facts: impl IntoIterator<Item = Fact>) {
        for fact in facts {
            // Without followers there is nothing to be briefed.
            self.followers.send(Arc::new(fact)).ok();
        }
    }

    /// A receiver that is notified after each fact.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// As [`follow`](Self::follow), and how many facts were put into the queue of the journal
    /// before.
    #[must_use]
    pub fn follow_from(&self) -> (broadcast::Receiver<Arc<Fact>>, u64) {
        // Facts are put under this lock.
        let _inner = self.inner();
        (self.followers.subscribe(), self.journal.progress().0)
    }

    /// How many facts were put into the queue of the journal, and how many of these are written.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        self.journal.progress()
    }

    /// A receiver of every fact from now on, in the journal's order. A receiver that is too slow
    /// loses facts, and learns how many; it never blocks the recorder.
    #[must_use]
    pub fn follow(&self) -> broadcast::Receiver<Arc<Fact>> {
        self.followers.subscribe()
    }

    /// Cancelled once the journal has failed.
    #[must_use]
    pub fn broken(&self) -> &CancellationToken {
        &self.broken
    }

    /// Why the journal has failed, if it has.
    #[must_use]
    pub fn failure(&self) -> Option<JournalError> {
        self.journal.failure()
    }
}
