//! The one place through which every fact goes: to the journal, and into the live fold.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use crate::fold::Fold;
use crate::ids::Life;
use crate::journal::{JournalError, Queue, Sink, Written};
use crate::live::Live;
use crate::observation::{Fact, What};
use crate::time::Mono;

/// How many facts a follower may be behind; with fifty members that is half a minute.
const BEHIND_MAX: usize = 16_384;
/// How long what waits at the end may take to be written.
const FLUSH: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(5);

/// Journal and live fold of one run. To note a fact does not wait for the disk.
pub struct Record {
    inner: Mutex<Inner>,
    fold: Arc<Fold>,
    journal: Queue,
    changed: watch::Sender<()>,
    followers: broadcast::Sender<Arc<Fact>>,
    /// Cancelled when the journal takes no more: what is not written down was not observed.
    broken: CancellationToken,
}

struct Inner {
    seq: u64,
    hole: Option<Hole>,
    /// How many facts found no room, in all holes.
    dropped: u64,
}

/// Facts that found no room, one after the other.
struct Hole {
    from: Mono,
    facts: u64,
}

/// The disk did not take all in time: what the run showed is not in its journal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the disk blocks: {facts} facts were not written to {} within {FLUSH:?}", path.display())]
pub struct Unflushed {
    /// How many.
    pub facts: usize,
    /// The journal.
    pub path: std::path::PathBuf,
}

impl Record {
    /// A record that writes to `journal`, and is folded into `live`.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn new(journal: impl Into<Sink>, live: Live) -> io::Result<Self> {
        let inner = Inner { seq: 0, hole: None, dropped: 0 };
        let broken = CancellationToken::new();
        let journal = Queue::start(journal.into(), broken.clone())?;
        let followers = broadcast::Sender::new(BEHIND_MAX);
        let changed = watch::Sender::new(());
        let fold = Arc::new(Fold::new(live));
        fold.start()?;
        Ok(Self { inner: Mutex::new(inner), fold, journal, changed, followers, broken })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what the controller saw of `life`, now; the stamp.
    pub fn note(&self, life: Option<&Life>, what: What) -> Mono {
        let mut inner = self.inner();
        // Stamped under the lock, so that the controller's facts stand in the order of their
        // stamps.
        let now = Mono::now();
        self.write(&mut inner, now, life, what);
        now
    }

    /// Notes what the controller saw of `life` at `t`.
    pub fn note_at(&self, t: Mono, life: Option<&Life>, what: What) {
        self.write(&mut self.inner(), t, life, what);
    }

    fn write(&self, inner: &mut Inner, t: Mono, life: Option<&Life>, what: What) {
        inner.seq += 1;
        let fact = Fact { t, seq: inner.seq, life: life.cloned(), what };
        self.put(inner, fact);
    }

    /// Takes over what a member told.
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
            // The last follower may have gone since.
            self.followers.send(Arc::clone(&fact)).ok();
        }
        // What is folded was sent to followers before: none is behind the fold and cannot know.
        self.fold.put(fact);
        self.changed.send_replace(());
    }

    /// Says that facts are missing, and of which time.
    fn close_hole(&self, inner: &mut Inner) {
        let Some(Hole { from, facts }) = inner.hole.take() else { return };
        tracing::warn!(facts, "The disk did not take these facts; their time is unknown.");
        let until = Mono::now();
        self.write(inner, until, None, What::Unwritten { from, until, facts });
    }

    /// Waits until all is written, for ten seconds at most. What is noted later may be lost.
    ///
    /// # Errors
    /// The disk did not take all.
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

    /// Looks at all that was noted so far.
    pub fn look<R>(&self, look: impl FnOnce(&Live) -> R) -> R {
        self.fold.look(look)
    }

    /// The live fold of all that is noted.
    #[must_use]
    pub fn fold(&self) -> &Arc<Fold> {
        &self.fold
    }

    /// Where the facts go, whether they get there, and how many did not.
    #[must_use]
    pub fn written(&self) -> Written {
        let dropped = self.inner().dropped;
        let written = self.journal.written();
        Written { lost: written.lost + dropped, ..written }
    }

    /// Wakes the tasks that wait for the fold to change.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Hears every fact from now on, in the journal's order. A receiver that is too slow learns how
    /// many facts it has missed, and delays no other.
    #[must_use]
    pub fn follow(&self) -> broadcast::Receiver<Arc<Fact>> {
        self.followers.subscribe()
    }

    /// Cancelled once the journal has failed.
    #[must_use]
    pub fn broken(&self) -> &CancellationToken {
        &self.broken
    }

    /// Why the journal takes no more, if so.
    #[must_use]
    pub fn failure(&self) -> Option<JournalError> {
        self.journal.failure()
    }
}
