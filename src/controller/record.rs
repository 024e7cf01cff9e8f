//! The one place through which every fact goes: to the journal, and into the live view.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use crate::ids::Life;
use crate::journal::{JournalError, Sink};
use crate::observation::{Fact, What};
use crate::time::Mono;
use crate::timeline::Standing;

/// How many facts a follower may be behind; with fifty members that is half a minute.
const BEHIND_MAX: usize = 16_384;

/// Journal and live view of one run.
pub struct Record {
    inner: Mutex<Inner>,
    changed: watch::Sender<()>,
    followers: broadcast::Sender<Arc<Fact>>,
    /// Cancelled when the journal takes no more: what is not written down was not observed.
    broken: CancellationToken,
}

struct Inner {
    journal: Sink,
    standing: Standing,
    seq: u64,
    failure: Option<JournalError>,
}

impl Record {
    /// A record that writes to `journal` and shows itself in `standing`.
    #[must_use]
    pub fn new(journal: impl Into<Sink>, standing: Standing) -> Self {
        let inner = Inner { journal: journal.into(), standing, seq: 0, failure: None };
        let broken = CancellationToken::new();
        let followers = broadcast::Sender::new(BEHIND_MAX);
        Self { inner: Mutex::new(inner), changed: watch::Sender::new(()), followers, broken }
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
        self.put(inner, &fact);
    }

    /// Takes over what a member told.
    pub fn take(&self, fact: &Fact) {
        self.put(&mut self.inner(), fact);
    }

    fn put(&self, inner: &mut Inner, fact: &Fact) {
        inner.standing.observe(fact);
        if inner.failure.is_none()
            && let Err(failure) = inner.journal.append(fact)
        {
            // The journal cannot tell this one.
            tracing::error!(error = crate::error::chain(&failure), "The run cannot go on.");
            inner.failure = Some(failure);
            self.broken.cancel();
        }
        self.changed.send_replace(());
        if self.followers.receiver_count() > 0 {
            // Nobody follows any more: then nobody misses it.
            self.followers.send(Arc::new(fact.clone())).ok();
        }
    }

    /// Looks at who claims what.
    pub fn look<R>(&self, look: impl FnOnce(&Standing) -> R) -> R {
        look(&self.inner().standing)
    }

    /// Looks at where the facts go.
    pub fn look_at_journal<R>(&self, look: impl FnOnce(&Sink) -> R) -> R {
        look(&self.inner().journal)
    }

    /// Wakes whoever waits for the view to change.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Hears every fact from now on, in the journal's order. Whoever is too slow is told how many
    /// facts it has missed, and holds nobody up.
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
        self.inner().failure.take()
    }
}
