//! Telemetry of one run, from before its members start until after its verdict.
//!
//! Logs and live operations are sent during the run. Traces are sent at its end, because only then
//! is it known which member led what; an endless run sends each window's trace once that is known.
//! Only [`Session::finish`] waits for a collector, at most two seconds. Items that are not accepted
//! by then are counted, and `tandem export` sends them again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::deadline::Deadline;
use super::export_settings::ExportSettings;
use super::post::{Post, Slot, Tally};
use super::window_feed::WindowFeed;
use super::window_traces::WindowTraces;
use super::{Live, Logbook, RunContext, Traces};
use crate::journal::Header;
use crate::observation::{Fact, RunEvent, What};

/// How long the exit may wait for a collector after the verdict: two seconds, minus the time that
/// the rest of the exit takes.
pub const PATIENCE: Duration = Duration::from_millis(1_900);

/// How many items were sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sent {
    /// Items that collectors accepted.
    pub taken: u64,
    /// Items to send that are not in the journal.
    pub more: u64,
    /// The first error.
    pub why: Option<String>,
}

/// Counts of what was received during a run.
#[derive(Debug, Default)]
pub struct Heard {
    records: AtomicU64,
    missed: AtomicU64,
    spans: AtomicU64,
    overlooked: AtomicU64,
}

impl Heard {
    /// How many log records were sent.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }

    /// How many spans of windows, and of the run itself, were sent or are pending.
    #[must_use]
    pub fn spans(&self) -> u64 {
        self.spans.load(Ordering::Relaxed)
    }

    /// How many facts the windows missed, because they came too fast.
    #[must_use]
    pub fn overlooked(&self) -> u64 {
        self.overlooked.load(Ordering::Relaxed)
    }

    pub(super) fn note(&self) {
        self.records.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn owe(&self, spans: usize) {
        self.spans.fetch_add(u64::try_from(spans).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn overlook(&self, facts: u64) {
        self.overlooked.fetch_add(facts, Ordering::Relaxed);
    }

    pub(super) fn miss(&self, facts: u64) {
        self.missed.fetch_add(facts, Ordering::Relaxed);
    }

    /// How many facts were missed, because they came too fast; the journal shows how many of them
    /// have log records.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }
}

/// Sends log records of facts as they come.
#[derive(Clone)]
pub struct Listener {
    slot: Slot<LogRecord>,
    book: Logbook,
    heard: Arc<Heard>,
}

impl Listener {
    /// Starts sending on a thread of its own, until the run's last fact.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn hear(self, mut facts: Receiver<Arc<Fact>>) -> io::Result<()> {
        let Self { slot, mut book, heard } = self;
        thread::Builder::new().name("logbook".to_owned()).spawn(move || {
            loop {
                match facts.blocking_recv() {
                    Ok(fact) => {
                        if let Some(record) = book.observe(&fact) {
                            heard.note();
                            slot.put(record);
                        }
                        if let What::Run(RunEvent::Ended { .. }) = fact.what {
                            break;
                        }
                    }
                    // The journal shows later which of them have log records.
                    Err(RecvError::Lagged(missed)) => heard.miss(missed),
                    Err(RecvError::Closed) => break,
                }
            }
            slot.end();
        })?;
        Ok(())
    }
}

/// Telemetry of one run.
pub struct Session {
    traces: Option<Post<ExportTraceServiceRequest>>,
    logs: Option<Post<ExportLogsServiceRequest>>,
    live: Live,
    context: RunContext,
    deadline: Deadline,
    heard: Arc<Heard>,
}

impl Session {
    /// Starts the sending threads of the run that `context` describes; `live` receives its
    /// operations.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start(settings: &ExportSettings, context: RunContext, live: Live) -> io::Result<Self> {
        let deadline = Deadline::never();
        let context = context.with_resource(settings.service.as_deref(), &settings.attributes);
        let traces = settings.traces.as_ref();
        let traces =
            traces.map(|target| Post::start("traces", target, context.clone(), deadline.clone()));
        let logs = settings.logs.as_ref();
        let logs =
            logs.map(|target| Post::start("logs", target, context.clone(), deadline.clone()));
        let (traces, logs) = (traces.transpose()?, logs.transpose()?);
        if let Some(traces) = &traces {
            live.connect(traces.slot(), &context.run);
        }
        Ok(Self { traces, logs, live, context, deadline, heard: Arc::default() })
    }

    /// The run's context.
    #[must_use]
    pub fn context(&self) -> &RunContext {
        &self.context
    }

    /// Returns a listener that sends logs of facts as they come; `None` if logs are off.
    #[must_use]
    pub fn listener(&self) -> Option<Listener> {
        let logs = self.logs.as_ref()?;
        let (book, heard) = (Logbook::new(self.context.clone()), Arc::clone(&self.heard));
        Some(Listener { slot: logs.slot(), book, heard })
    }

    /// Returns a feed that sends a trace of each window of this `length`, with logs, for the
    /// endless run that `header` begins; `None` if traces are off.
    #[must_use]
    pub fn windows(&self, header: &Header, length: Duration) -> Option<WindowFeed> {
        let (spans, logs) = (self.traces.as_ref()?.slot(), self.logs.as_ref().map(Post::slot));
        let traces = WindowTraces::new(header, self.context.clone(), length);
        Some(WindowFeed::new(spans, logs, traces, Arc::clone(&self.heard)))
    }

    /// The counts so far; readable even after the session is over.
    #[must_use]
    pub fn heard(&self) -> Arc<Heard> {
        Arc::clone(&self.heard)
    }

    /// Sends logs of all these facts of a finished run.
    pub fn replay(&self, facts: impl IntoIterator<Item = Fact> + Send + 'static) {
        let Some(logs) = &self.logs else { return };
        let mut book = Logbook::new(self.context.clone());
        logs.all(Box::new(move |add| {
            facts.into_iter().filter_map(|fact| book.observe(&fact)).try_for_each(add)
        }));
    }

    /// Sends these traces; no others follow.
    pub fn send(&self, traces: Arc<Traces>) {
        if let Some(post) = &self.traces {
            post.all(Box::new(move |add| traces.iter().flatten().try_for_each(add)));
            post.end();
        }
    }

    /// Whether traces and logs are on.
    #[must_use]
    pub fn signals(&self) -> (bool, bool) {
        (self.traces.is_some(), self.logs.is_some())
    }

    /// Limits the remaining time to `within`.
    pub fn hurry(&self, within: Duration) {
        self.deadline.set(within);
    }

    /// Waits until everything is sent, no longer than [`hurry`](Self::hurry) allowed. Returns the
    /// counts of traces, and of logs.
    #[must_use]
    pub fn finish(self) -> (Sent, Sent) {
        let more = self.live.heard();
        let traces = self.traces.map(|post| post.finish(&self.deadline));
        let logs = self.logs.map(|post| post.finish(&self.deadline));
        let sent = |tally: Option<Arc<Tally>>, more| {
            let sent = |tally: Arc<Tally>| Sent { taken: tally.taken(), more, why: tally.why() };
            tally.map_or_else(Sent::default, sent)
        };
        (sent(traces, more), sent(logs, 0))
    }
}
