//! One thread per signal: takes items, sends them in chunks, and counts how many were accepted.
//!
//! Handing in an item never blocks: if there is no room, the item is lost and counted. The first
//! loss is logged at once, the number of lost items at the end.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use prost::Message;

use super::RunContext;
use super::courier::Courier;
use super::deadline::Deadline;
use super::export_settings::Target;
use super::signal::Chunks;
use crate::time::Mono;

/// How many items may wait.
const WAITING_MAX: usize = 8_192;
/// How many items handed in together may wait; they take about fifty megabytes.
const TOGETHER_MAX: usize = 32_768;
/// The most items that go in one request.
const CHUNK_ITEMS: usize = 1_000;
/// The most bytes of a request, before compression; collectors accept 4 MiB over gRPC by default.
const CHUNK_BYTES: usize = 2 << 20;
/// The longest that an item waits for others.
const LINGER: Duration = Duration::from_secs(1);

/// Produces items one by one, each after the previous was taken, as long as they are wanted.
pub(super) type Source<I> =
    Box<dyn FnOnce(&mut dyn FnMut(I) -> ControlFlow<()>) -> ControlFlow<()> + Send>;

/// The messages to a thread.
enum Parcel<I> {
    One(I),
    Several(Vec<I>),
    All(Source<I>),
    /// Nothing follows.
    End,
}

/// Counts of the items handed in.
#[derive(Debug)]
pub(super) struct Tally {
    signal: &'static str,
    deadline: Deadline,
    taken: AtomicU64,
    /// How many of the items handed in together are still to be sent.
    together: AtomicUsize,
    why: Mutex<Option<String>>,
    has_told: AtomicBool,
}

impl Tally {
    fn new(signal: &'static str, deadline: Deadline) -> Self {
        Self {
            signal,
            deadline,
            taken: AtomicU64::new(0),
            together: AtomicUsize::new(0),
            why: Mutex::default(),
            has_told: AtomicBool::new(false),
        }
    }

    /// How many items the collector accepted.
    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// The first error.
    pub(super) fn why(&self) -> Option<String> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn blame(&self, why: String) {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    fn blame_no_room(&self) {
        self.blame(format!("more than {WAITING_MAX} items were waiting to be sent"));
    }

    fn blame_no_time(&self) {
        self.blame("the collector did not accept everything in time".to_owned());
    }

    /// Warns of the first loss. Near the end of the run the final report covers it.
    fn warn_once(&self) {
        if !self.deadline.is_set()
            && let Some(why) = self.why()
            && !self.has_told.swap(true, Ordering::Relaxed)
        {
            warn_of_loss(self.signal, &why);
        }
    }
}

/// Warns that telemetry is being lost.
pub(super) fn warn_of_loss(signal: &str, why: &str) {
    tracing::warn!(signal, why, "Telemetry is being lost; the end of the run reports how much.");
}

/// The sending thread of one signal.
pub(super) struct Post<S: Chunks> {
    parcels: SyncSender<Parcel<S::Item>>,
    tally: Arc<Tally>,
    done: Receiver<()>,
}

/// A handle that accepts single items.
pub(super) struct Slot<I>(SyncSender<Parcel<I>>, Arc<Tally>);

impl<I> std::fmt::Debug for Slot<I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Slot")
    }
}

impl<I> Clone for Slot<I> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), Arc::clone(&self.1))
    }
}

impl<I> Slot<I> {
    /// Hands in one item, without blocking.
    pub(super) fn put(&self, item: I) {
        if let Err(TrySendError::Full(_)) = self.0.try_send(Parcel::One(item)) {
            self.1.blame_no_room();
        }
    }

    /// Hands in items that belong together, without blocking: all of them, or none.
    pub(super) fn put_all(&self, items: Vec<I>) {
        let (count, together) = (items.len(), &self.1.together);
        let before = together.fetch_add(count, Ordering::Relaxed);
        // An empty queue accepts any number of them.
        let has_room = before == 0 || before.saturating_add(count) <= TOGETHER_MAX;
        let full = |sent| matches!(sent, Err(TrySendError::Full(_)));
        if !has_room || full(self.0.try_send(Parcel::Several(items))) {
            together.fetch_sub(count, Ordering::Relaxed);
            self.1.blame_no_room();
        }
    }

    /// Says that nothing follows. If the queue is full, dropping the slot says the same.
    pub(super) fn end(self) {
        self.0.try_send(Parcel::End).ok();
    }
}

impl<S: Chunks> Post<S> {
    /// Starts the thread, which sends to `target` until `deadline`.
    pub(super) fn start(
        signal: &'static str,
        target: &Target,
        context: RunContext,
        deadline: Deadline,
    ) -> std::io::Result<Self> {
        let (parcels, taken) = sync_channel(WAITING_MAX);
        let (finished, done) = sync_channel(1);
        let tally = Arc::new(Tally::new(signal, deadline.clone()));
        let (target, kept) = (target.clone(), Arc::clone(&tally));
        thread::Builder::new().name(signal.to_owned()).spawn(move || {
            match Courier::new(&target, deadline.clone()) {
                Ok(courier) => {
                    let chunk = Vec::new();
                    Carrier::<S> { courier, context, tally: kept, deadline, chunk, bytes: 0 }
                        .run(&taken);
                }
                Err(error) => {
                    kept.blame(crate::error::chain(&error));
                    kept.warn_once();
                }
            }
            // The receiver is gone if `finish` has given up waiting.
            finished.send(()).ok();
        })?;
        Ok(Self { parcels, tally, done })
    }

    /// Returns a handle that accepts single items.
    pub(super) fn slot(&self) -> Slot<S::Item> {
        Slot(self.parcels.clone(), Arc::clone(&self.tally))
    }

    /// Hands in a source of all remaining items, which are produced while they are sent.
    pub(super) fn all(&self, source: Source<S::Item>) {
        if let Err(TrySendError::Full(_)) = self.parcels.try_send(Parcel::All(source)) {
            self.tally.blame_no_room();
        }
    }

    /// Says that nothing follows, even if slots still exist.
    pub(super) fn end(&self) {
        self.slot().end();
    }

    /// Waits until everything is sent, at most until the deadline. Returns the counts. The thread
    /// may outlive this call.
    pub(super) fn finish(self, deadline: &Deadline) -> Arc<Tally> {
        let Self { parcels, tally, done } = self;
        drop(parcels);
        if let Err(RecvTimeoutError::Timeout) = done.recv_timeout(deadline.left()) {
            tally.blame_no_time();
        }
        tally
    }
}

struct Carrier<S: Chunks> {
    courier: Courier,
    context: RunContext,
    tally: Arc<Tally>,
    deadline: Deadline,
    chunk: Vec<S::Item>,
    bytes: usize,
}

impl<S: Chunks> Carrier<S> {
    fn run(mut self, parcels: &Receiver<Parcel<S::Item>>) {
        let mut due: Option<Mono> = None;
        loop {
            let wait = due.map_or(Duration::from_secs(3_600), |due| due.since(Mono::now()));
            match parcels.recv_timeout(wait) {
                Ok(Parcel::One(item)) => {
                    self.add(item);
                    due = due.or_else(|| Some(Mono::now() + LINGER));
                }
                Ok(Parcel::Several(items)) => {
                    let count = items.len();
                    items.into_iter().for_each(|item| self.add(item));
                    self.flush();
                    self.tally.together.fetch_sub(count, Ordering::Relaxed);
                }
                Ok(Parcel::All(source)) => self.add_all(source),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Parcel::End) | Err(RecvTimeoutError::Disconnected) => {
                    self.flush();
                    return;
                }
            }
            if due.is_some_and(|due| due <= Mono::now()) {
                self.flush();
            }
            if self.chunk.is_empty() {
                due = None;
            }
        }
    }

    fn add_all(&mut self, source: Source<S::Item>) {
        let all = source(&mut |item| {
            if self.deadline.left().is_zero() {
                self.tally.blame_no_time();
                return ControlFlow::Break(());
            }
            self.add(item);
            ControlFlow::Continue(())
        });
        if all.is_continue() {
            self.flush();
        }
    }

    fn add(&mut self, item: S::Item) {
        let bytes = item.encoded_len();
        if self.bytes.saturating_add(bytes) > CHUNK_BYTES {
            self.flush();
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.chunk.push(item);
        if self.chunk.len() >= CHUNK_ITEMS {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let chunk = std::mem::take(&mut self.chunk);
        self.bytes = 0;
        let count = u64::try_from(chunk.len()).unwrap_or(u64::MAX);
        if count == 0 {
            return;
        }
        match self.courier.send(&S::of(&self.context, chunk)) {
            Ok((rejected, why)) => {
                let taken = count.saturating_sub(rejected);
                self.tally.taken.fetch_add(taken, Ordering::Relaxed);
                if rejected > 0 {
                    self.tally.blame(format!("the collector rejected {rejected} items: {why}"));
                }
            }
            Err(why) => self.tally.blame(why),
        }
        self.tally.warn_once();
    }
}
