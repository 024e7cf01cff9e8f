//! A bounded queue of facts, and the thread that writes them to disk.
//!
//! A disk may block for seconds, but recording a fact must not: healing, restarts and `status`
//! continue. The thread collects facts for [`TOGETHER`] before it writes, so that many short lines
//! wake it once; a SIGKILL of the controller loses at most that much. A fact that does not fit is
//! rejected, and the caller accounts for it.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{Header, JournalError, Sink};
use crate::observation::{Fact, MemberEvent, What};
use crate::time::Mono;

/// How long facts are collected before they are written.
const TOGETHER: Duration = Duration::from_millis(10);
/// A write that takes longer is reported as a blocking disk.
const BLOCKED: Duration = Duration::from_secs(2);
/// The size of the queue: some minutes at a thousand facts per second.
const SIZE_MAX: usize = 64 << 20;
/// The variable with which tests override the size, in bytes.
const VARIABLE: &str = "TANDEM_TEST_JOURNAL_QUEUE";

/// A queue with its thread, which ends when this is dropped and everything is written.
pub struct Queue {
    shared: Arc<Shared>,
    most: usize,
}

struct Shared {
    inner: Mutex<Inner>,
    changed: Condvar,
}

/// What waits.
enum Item {
    Fact(Arc<Fact>),
    /// The header of what follows.
    Header(Box<Header>),
}

struct Inner {
    waiting: VecDeque<(Mono, Item)>,
    /// The size of the waiting facts and of the one being written.
    size: usize,
    /// Since when the current write runs.
    writing: Option<Mono>,
    closed: bool,
    failure: Option<JournalError>,
    seen: Written,
    /// How many facts were put in, and how many of these are written.
    progress: (u64, u64),
}

/// The state of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The current file, or the last one.
    pub path: PathBuf,
    /// Why facts are not being written, if so.
    pub why: Option<String>,
    /// How many facts could not be written.
    pub lost: u64,
}

impl Written {
    fn of(sink: &Sink) -> Self {
        let why = sink.unwritten().map(|unwritten| unwritten.why.clone());
        Self { path: sink.path(), why, lost: sink.lost() }
    }

    fn is_of(&self, sink: &Sink) -> bool {
        let same = self.lost == sink.lost() && self.why.is_some() == sink.unwritten().is_some();
        same && self.path == sink.path()
    }
}

impl Queue {
    /// Starts the thread that writes to `sink`; cancels `broken` when writing fails for good.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start(mut sink: Sink, broken: CancellationToken) -> io::Result<Self> {
        let most = std::env::var(VARIABLE).ok().and_then(|most| most.parse().ok());
        let inner = Inner {
            waiting: VecDeque::new(),
            size: 0,
            writing: None,
            closed: false,
            failure: None,
            seen: Written::of(&sink),
            progress: (0, 0),
        };
        let shared = Arc::new(Shared { inner: Mutex::new(inner), changed: Condvar::new() });
        let theirs = Arc::clone(&shared);
        let _ends_when_closed = Builder::new().name("journal".to_owned()).spawn(move || {
            while let Some((at, item)) = theirs.next() {
                let fact = match item {
                    Item::Fact(fact) => fact,
                    Item::Header(header) => {
                        sink.change(at, *header);
                        theirs.written(0, &sink, None);
                        continue;
                    }
                };
                // Nothing is written after a missing fact.
                let failure =
                    if broken.is_cancelled() { None } else { sink.append(at, &fact).err() };
                let failed = failure.is_some();
                theirs.written(weight(&fact), &sink, failure);
                if failed {
                    broken.cancel();
                }
            }
        })?;
        Ok(Self { shared, most: most.unwrap_or(SIZE_MAX) })
    }

    /// Adds a fact if there is room. A quarter of extra room is reserved for the controller's own
    /// facts: they are few, and the others mean little without them.
    #[must_use]
    pub fn put(&self, now: Mono, fact: &Arc<Fact>) -> bool {
        let most = if fact.what.is_by_member() { self.most } else { self.most + self.most / 4 };
        let mut inner = self.shared.lock();
        let size = inner.size.saturating_add(weight(fact));
        if size > most {
            return false;
        }
        inner.size = size;
        // The thread sleeps only if the queue is empty.
        if inner.waiting.is_empty() {
            self.shared.changed.notify_all();
        }
        inner.waiting.push_back((now, Item::Fact(Arc::clone(fact))));
        inner.progress.0 += 1;
        true
    }

    /// What is put from now on has this header. It always has room.
    pub fn change(&self, now: Mono, header: Header) {
        let mut inner = self.shared.lock();
        if inner.waiting.is_empty() {
            self.shared.changed.notify_all();
        }
        inner.waiting.push_back((now, Item::Header(Box::new(header))));
        inner.progress.0 += 1;
    }

    /// Whether half of the queue is free again; a queue just below its limit would fill up at once.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.shared.lock().size <= self.most / 2
    }

    /// The state of the journal; a blocking disk counts as not writing.
    #[must_use]
    pub fn written(&self) -> Written {
        let inner = self.shared.lock();
        let mut seen = inner.seen.clone();
        let blocked = inner.writing.map(|since| Mono::now().since(since));
        if let Some(blocked) = blocked.filter(|blocked| *blocked >= BLOCKED) {
            let (seconds, waiting) = (blocked.as_secs(), inner.waiting.len());
            let why = format!("the disk blocks for {seconds} s, and {waiting} facts wait");
            seen.why.get_or_insert(why);
        }
        seen
    }

    /// Why writing failed for good, if so; returned once.
    #[must_use]
    pub fn failure(&self) -> Option<JournalError> {
        self.shared.lock().failure.take()
    }

    /// How many facts were put in so far, and how many of these are written.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        self.shared.lock().progress
    }

    /// How many facts are not written yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let inner = self.shared.lock();
        inner.waiting.len() + usize::from(inner.writing.is_some())
    }

    /// Writes waiting facts at once, and ignores later ones.
    pub fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next fact to write; `None` if there will be none.
    fn next(&self) -> Option<(Mono, Item)> {
        let mut inner = self.lock();
        if inner.waiting.is_empty() && !inner.closed {
            let idle = |inner: &mut Inner| inner.waiting.is_empty() && !inner.closed;
            inner = self.changed.wait_while(inner, idle).unwrap_or_else(PoisonError::into_inner);
            let open = |inner: &mut Inner| !inner.closed;
            let gathered = self.changed.wait_timeout_while(inner, TOGETHER, open);
            inner = gathered.unwrap_or_else(PoisonError::into_inner).0;
        }
        let next = inner.waiting.pop_front();
        inner.writing = next.is_some().then(Mono::now);
        next
    }

    fn written(&self, size: usize, sink: &Sink, failure: Option<JournalError>) {
        let mut inner = self.lock();
        inner.size = inner.size.saturating_sub(size);
        inner.writing = None;
        inner.progress.1 += 1;
        if let Some(failure) = failure {
            // The journal cannot record its own failure.
            tracing::error!(error = crate::error::chain(&failure), "The run cannot go on.");
            inner.failure = Some(failure);
        }
        if !inner.seen.is_of(sink) {
            inner.seen = Written::of(sink);
        }
    }
}

/// The approximate size of a fact in memory.
fn weight(fact: &Fact) -> usize {
    let more = if let What::Member(MemberEvent::Renewed { claims }) = &fact.what {
        size_of_val(claims.as_slice())
    } else if let What::Member(
        MemberEvent::Ticks { partitions, .. } | MemberEvent::Assigned { partitions, .. },
    ) = &fact.what
    {
        size_of_val(partitions.as_slice())
    } else {
        0
    };
    // Includes the names in it, and its slot in the queue.
    size_of::<Fact>() + more + 128
}
