//! The live fold of one run, shared by all its readers: each fact is folded once.
//!
//! ```text
//!   recorder -- put --> inbox --+--> Live --+--> listeners: each fact and each event, in order
//!   time, every 10 ms ----------+           +--> look: queries
//! ```
//!
//! `put` waits only for the lock of the inbox. `look` folds the inbox first, so a reader sees all
//! facts that were put before. A thread folds the inbox and advances the time every 10 ms.
//! Listeners run under the lock of the fold, so they must not call `look`.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::live::{Event, Live};
use crate::observation::{Fact, RunEvent, What};
use crate::roster::Roster;
use crate::time::Mono;

/// How many facts may wait in the inbox: those of fifty members in half a minute.
pub const WAITING_MAX: usize = 16_384;
/// How often facts are folded if no reader looks. This costs less than waking up for each fact, and
/// the delay is far below the time in which a death must be reported.
const TOGETHER: Duration = Duration::from_millis(10);

/// The input of a listener.
#[derive(Debug, Clone, Copy)]
pub enum Heard<'a> {
    /// A fact; it is already folded.
    Fact(&'a Fact),
    /// An event of the live fold.
    Event(&'a Event),
    /// The inbox was full: so many facts are missed.
    Missed(u64),
}

/// Gets all facts and events, in order.
pub type Listener = Box<dyn FnMut(&Live, Heard<'_>) + Send>;

/// The live fold of one run.
pub struct Fold {
    inbox: Mutex<Inbox>,
    folded: Mutex<Folded>,
}

#[derive(Default)]
struct Inbox {
    facts: Vec<Arc<Fact>>,
    missed: u64,
}

struct Folded {
    live: Live,
    listeners: Vec<Listener>,
}

impl std::fmt::Debug for Fold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fold").finish_non_exhaustive()
    }
}

impl Fold {
    /// A fold whose time does not advance yet.
    #[must_use]
    pub fn new(live: Live) -> Self {
        let folded = Folded { live, listeners: Vec::new() };
        Self { inbox: Mutex::default(), folded: Mutex::new(folded) }
    }

    /// Starts the thread that advances the time, until the fold is dropped.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start(self: &Arc<Self>) -> io::Result<()> {
        let fold = Arc::downgrade(self);
        std::thread::Builder::new().name("fold".to_owned()).spawn(move || {
            while let Some(fold) = fold.upgrade() {
                fold.pass(Mono::now());
                drop(fold);
                std::thread::sleep(TOGETHER);
            }
        })?;
        Ok(())
    }

    /// Takes a fact, in the order of the journal.
    pub fn put(&self, fact: Arc<Fact>) {
        let mut inbox = self.inbox();
        if inbox.facts.len() < WAITING_MAX {
            inbox.facts.push(fact);
        } else {
            inbox.missed = inbox.missed.saturating_add(1);
        }
    }

    /// Facts are missing, which the sender dropped.
    pub fn miss(&self, facts: u64) {
        let mut inbox = self.inbox();
        inbox.missed = inbox.missed.saturating_add(facts);
    }

    /// Adds a listener for everything from now on, until the run's last fact.
    pub fn listen(&self, listener: Listener) {
        self.folded().listeners.push(listener);
    }

    /// Reads the live fold, with all facts put so far.
    pub fn look<R>(&self, look: impl FnOnce(&Live) -> R) -> R {
        look(&self.folded().live)
    }

    /// Advances the time.
    pub fn pass(&self, now: Mono) {
        let mut folded = self.folded();
        // Once everything is final, time changes nothing.
        if folded.live.poll_timeout().is_some_and(|due| due <= now) {
            folded.live.handle_timeout(now);
            folded.publish();
        }
    }

    /// From now on facts are waited for so much longer; see [`Live::wait`].
    pub fn wait(&self, behind: Duration) {
        self.folded().live.wait(behind);
    }

    /// From `at` on this is the roster; see [`Live::change`].
    pub fn change(&self, roster: impl Into<Roster>, at: Mono) {
        self.folded().live.change(roster, at);
    }

    /// Called when the members are asked to leave: nothing counts from `at` on.
    pub fn end(&self, at: Mono) {
        self.folded().live.end(at);
    }

    /// Called after the last fact: everything is final as it is.
    pub fn finish(&self, now: Mono) {
        let mut folded = self.folded();
        folded.live.finish(now);
        folded.publish();
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fold, with all facts put so far.
    fn folded(&self) -> MutexGuard<'_, Folded> {
        let mut folded = self.folded.lock().unwrap_or_else(PoisonError::into_inner);
        let Inbox { facts, missed } = std::mem::take(&mut *self.inbox());
        facts.iter().for_each(|fact| folded.take(fact));
        if missed > 0 {
            tracing::warn!(
                facts = missed,
                "Facts came faster than they could be processed; some are missed."
            );
            folded.hear(Heard::Missed(missed));
        }
        folded
    }
}

impl Folded {
    fn take(&mut self, fact: &Fact) {
        self.live.observe(fact);
        self.hear(Heard::Fact(fact));
        self.publish();
        if let What::Run(RunEvent::Ended { .. }) = fact.what {
            self.live.finish(Mono::now());
            self.publish();
            self.listeners.clear();
        }
    }

    fn publish(&mut self) {
        while let Some(event) = self.live.poll_event() {
            self.hear(Heard::Event(&event));
        }
    }

    fn hear(&mut self, heard: Heard<'_>) {
        for listener in &mut self.listeners {
            listener(&self.live, heard);
        }
    }
}
