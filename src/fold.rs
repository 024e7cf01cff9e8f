//! The live fold of one run, shared by all that read it: each fact is folded once.
//!
//! ```text
//!   record -- put --> inbox --+--> Live --+--> listeners: each fact and each event, in order
//!   time, every 10 ms --------+           +--> look: questions
//! ```
//!
//! `put` waits for nothing but the inbox. Each look folds the inbox first, so a reader sees all
//! facts that were put before. A thread folds it every 10 ms, and lets time pass. Listeners run
//! under the lock of the fold: they must not look themselves.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::live::{Event, Live};
use crate::observation::{Fact, What};
use crate::time::Mono;

/// How many facts may wait; with fifty members that is half a minute.
pub const WAITING_MAX: usize = 16_384;
/// How often facts are folded where no reader looks: it costs less than to wake for each, and is
/// far below what may pass between a death and its telling.
const TOGETHER: Duration = Duration::from_millis(10);

/// What listeners hear.
#[derive(Debug, Clone, Copy)]
pub enum Heard<'a> {
    /// A fact, which is folded already.
    Fact(&'a Fact),
    /// What came of facts, or of time.
    Event(&'a Event),
    /// So many facts came faster than they were folded.
    Missed(u64),
}

/// Hears everything from now on, in order.
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
    /// Nothing has happened yet, and no time passes.
    #[must_use]
    pub fn new(live: Live) -> Self {
        let folded = Folded { live, listeners: Vec::new() };
        Self { inbox: Mutex::default(), folded: Mutex::new(folded) }
    }

    /// Time passes from now on, for as long as the fold is held.
    ///
    /// # Errors
    /// The system has no thread to spare.
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

    /// This one hears everything from now on, until the run's last fact.
    pub fn listen(&self, listener: Listener) {
        self.folded().listeners.push(listener);
    }

    /// Looks at all that was put so far.
    pub fn look<R>(&self, look: impl FnOnce(&Live) -> R) -> R {
        look(&self.folded().live)
    }

    /// Lets time pass.
    pub fn pass(&self, now: Mono) {
        let mut folded = self.folded();
        // Once all is final it stays as it is.
        if folded.live.poll_timeout().is_some_and(|due| due <= now) {
            folded.live.handle_timeout(now);
            folded.tell();
        }
    }

    /// The members are sent home: nothing is counted from `at` on.
    pub fn end(&self, at: Mono) {
        self.folded().live.end(at);
    }

    /// No fact will come any more: everything is final as it stands.
    pub fn finish(&self, now: Mono) {
        let mut folded = self.folded();
        folded.live.finish(now);
        folded.tell();
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fold, with all that was put so far.
    fn folded(&self) -> MutexGuard<'_, Folded> {
        let mut folded = self.folded.lock().unwrap_or_else(PoisonError::into_inner);
        let Inbox { facts, missed } = std::mem::take(&mut *self.inbox());
        facts.iter().for_each(|fact| folded.take(fact));
        if missed > 0 {
            tracing::warn!(facts = missed, "Facts came faster than they could be followed.");
            folded.hear(Heard::Missed(missed));
        }
        folded
    }
}

impl Folded {
    fn take(&mut self, fact: &Fact) {
        self.live.observe(fact);
        self.hear(Heard::Fact(fact));
        self.tell();
        if let What::Ended { .. } = fact.what {
            self.live.finish(Mono::now());
            self.tell();
            self.listeners.clear();
        }
    }

    fn tell(&mut self) {
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
