//! Facts on their way to the disk: a queue of a bounded size, and the thread that writes.
//!
//! A disk may block for seconds, and whoever notes a fact must not: healing, restarts and `status`
//! go on. The thread takes what waits each [`TOGETHER`], so that many short lines wake it once; a
//! SIGKILL of the controller loses no more than that. What does not fit is not taken, and the
//! caller accounts for it.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{JournalError, Sink};
use crate::observation::{Fact, What};
use crate::time::Mono;

/// How long facts are gathered before they are written.
const TOGETHER: Duration = Duration::from_millis(10);
/// A write that takes longer is told: the disk blocks.
const BLOCKED: Duration = Duration::from_secs(2);
/// How much may wait: at a thousand facts a second some minutes.
const SIZE_MAX: usize = 64 << 20;
/// What tests replace that number with, in bytes.
const VARIABLE: &str = "TANDEM_TEST_JOURNAL_QUEUE";

/// A queue with its thread, which ends when this is dropped and all is written.
pub struct Queue {
    shared: Arc<Shared>,
    most: usize,
}

struct Shared {
    inner: Mutex<Inner>,
    changed: Condvar,
}

struct Inner {
    waiting: VecDeque<(Mono, Arc<Fact>)>,
    /// How much that is, with what is being written.
    size: usize,
    /// Since when a fact is being written.
    writing: Option<Mono>,
    closed: bool,
    failure: Option<JournalError>,
    seen: Written,
}

/// How the journal stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The file that is written, or was last.
    pub path: PathBuf,
    /// Why nothing is written, if so.
    pub why: Option<String>,
    /// How many facts the files did not take.
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
    /// Starts the thread that writes to `sink`; `broken` is cancelled when that takes no more.
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
        };
        let shared = Arc::new(Shared { inner: Mutex::new(inner), changed: Condvar::new() });
        let theirs = Arc::clone(&shared);
        let _ends_when_closed = Builder::new().name("journal".to_owned()).spawn(move || {
            while let Some((at, fact)) = theirs.next() {
                // Behind what is missing nothing is written.
                let failure =
                    if broken.is_cancelled() { None } else { sink.append(at, &fact).err() };
                let failed = failure.is_some();
                theirs.written(&fact, &sink, failure);
                if failed {
                    broken.cancel();
                }
            }
        })?;
        Ok(Self { shared, most: most.unwrap_or(SIZE_MAX) })
    }

    /// Takes a fact, unless there is no room for it. A quarter more is kept for facts that the
    /// controller wrote: they are few, and without them others mean little.
    #[must_use]
    pub fn put(&self, now: Mono, fact: &Arc<Fact>) -> bool {
        let most = if fact.what.is_by_member() { self.most } else { self.most + self.most / 4 };
        let mut inner = self.shared.lock();
        let size = inner.size.saturating_add(weight(fact));
        if size > most {
            return false;
        }
        inner.size = size;
        // The thread sleeps only where nothing waits.
        if inner.waiting.is_empty() {
            self.shared.changed.notify_all();
        }
        inner.waiting.push_back((now, Arc::clone(fact)));
        true
    }

    /// Whether half of it is free again: one that is just below its bound would be full at once.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.shared.lock().size <= self.most / 2
    }

    /// How the journal stands. A disk that blocks takes nothing.
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

    /// Why the journal takes no more, if so; told once.
    #[must_use]
    pub fn failure(&self) -> Option<JournalError> {
        self.shared.lock().failure.take()
    }

    /// How many facts are not written yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let inner = self.shared.lock();
        inner.waiting.len() + usize::from(inner.writing.is_some())
    }

    /// Writes what waits at once, and takes no heed of what comes later.
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

    /// The next fact to be written, once there is one; nothing where there will be none.
    fn next(&self) -> Option<(Mono, Arc<Fact>)> {
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

    fn written(&self, fact: &Fact, sink: &Sink, failure: Option<JournalError>) {
        let mut inner = self.lock();
        inner.size = inner.size.saturating_sub(weight(fact));
        inner.writing = None;
        if let Some(failure) = failure {
            // The journal cannot tell this one.
            tracing::error!(error = crate::error::chain(&failure), "The run cannot go on.");
            inner.failure = Some(failure);
        }
        if !inner.seen.is_of(sink) {
            inner.seen = Written::of(sink);
        }
    }
}

/// About how many bytes a fact takes in memory.
fn weight(fact: &Fact) -> usize {
    let more = if let What::Renewed { claims } = &fact.what {
        size_of_val(claims.as_slice())
    } else if let What::Ticks { partitions, .. } | What::Assigned { partitions, .. } = &fact.what {
        size_of_val(partitions.as_slice())
    } else {
        0
    };
    // With the names in it, and its place in the queue.
    size_of::<Fact>() + more + 128
}
